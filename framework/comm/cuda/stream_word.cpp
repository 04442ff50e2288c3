#include "comm/cuda/stream_word.h"

#include <cuda.h>

#include "core/error.h"
#include "device/cuda/cuda_check.h"

namespace tandem {
namespace {

using WriteValue = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned int);

// From the runtime, so that programs start on machines that have no driver to link with.
WriteValue find_write_value() {
  constexpr unsigned int kSince = 11070;  // the version that works without a module parameter of the driver
  void* function = nullptr;
  auto status = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  TANDEM_CUDA(cudaGetDriverEntryPointByVersion("cuStreamWriteValue32", &function, kSince, cudaEnableDefault,
                                               &status));
#else
  static_cast<void>(kSince);
  TANDEM_CUDA(cudaGetDriverEntryPoint("cuStreamWriteValue32", &function, cudaEnableDefault, &status));
#endif
  TANDEM_EXPECT(status == cudaDriverEntryPointSuccess && function != nullptr,
                "the driver has no cuStreamWriteValue32: it is older than CUDA 11.7");
  return reinterpret_cast<WriteValue>(function);
}

}  // namespace

void write_word(cudaStream_t stream, std::uint32_t* word, std::uint32_t value) {
  static const WriteValue write_value = find_write_value();
  const auto status = write_value(stream, reinterpret_cast<CUdeviceptr>(word), value, 0);
  if (status != CUDA_SUCCESS) {
    throw Error("CUDA driver", "cuStreamWriteValue32", fmt::format("error {}", static_cast<int>(status)));
  }
}

}  // namespace tandem

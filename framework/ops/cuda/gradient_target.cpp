#include "ops/cuda/gradient_target.h"

#include "device/cuda/cuda_stream.h"
#include "ops/check.h"
#include "ops/cuda/cuda_context.h"

namespace tandem {

void expect_gradient_target(std::string_view what, const GradTarget& target, const Shape& shape) {
  expect_float_dtype(what, target.view.dtype());
  expect_tensor(what, target.view, target.view.dtype(), shape);
}

GradientOut as_kernel_argument(const GradTarget& target) {
  return {target.view.raw(), target.view.dtype(), target.mode == GradMode::Accumulate};
}

void store_gradient(Stream& stream, const void* scratch, DType produced, const GradTarget& target) {
  TANDEM_CUDA(launch_store_gradient({scratch, produced}, as_kernel_argument(target),
                                    target.view.elements().value(), as_cuda(stream).raw()));
}

}  // namespace tandem

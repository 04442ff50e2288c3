// SGD and AdamW by own kernels over flat ranges.
#include <cstring>
#include <span>

#include "device/cuda/cuda_stream.h"
#include "ops/check.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/optimizer_kernels.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

// Segments in device memory, uploaded once: a recorded step reads them there.
class DeviceSegments {
 public:
  DeviceSegments(CudaDevice& device, const std::vector<UpdateSegment>& segments) {
    std::vector<DeviceSegment> list;
    for (const auto& segment : segments) {
      if (segment.end > segment.begin) list.push_back({segment.begin, segment.end, segment.weight_decay});
    }
    if (list.empty()) return;
    const std::int64_t chunks = (list.back().end + kUpdateChunk - 1) / kUpdateChunk;
    std::vector<std::int32_t> first_of_chunk;
    std::int32_t first = 0;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      while (list[first].end <= chunk * kUpdateChunk) ++first;
      first_of_chunk.push_back(first);
    }
    const auto list_bytes = static_cast<std::int64_t>(std::as_bytes(std::span(list)).size());
    const auto firsts_at = workspace_piece(ByteCount(list_bytes));
    const auto firsts_bytes = static_cast<std::int64_t>(std::as_bytes(std::span(first_of_chunk)).size());
    memory_ = Buffer(device.memory(), firsts_at + ByteCount(firsts_bytes));
    auto* firsts = static_cast<char*>(memory_.data()) + firsts_at.value();
    TANDEM_CUDA(cudaSetDevice(device.ordinal()));
    TANDEM_CUDA(cudaMemcpy(memory_.data(), list.data(), static_cast<std::size_t>(list_bytes),
                           cudaMemcpyHostToDevice));
    TANDEM_CUDA(cudaMemcpy(firsts, first_of_chunk.data(), static_cast<std::size_t>(firsts_bytes),
                           cudaMemcpyHostToDevice));
    table_ = {static_cast<const DeviceSegment*>(memory_.data()),
              reinterpret_cast<const std::int32_t*>(firsts), static_cast<std::int32_t>(list.size()), chunks};
  }

  const SegmentTable& table() const { return table_; }

 private:
  Buffer memory_;
  SegmentTable table_{};
};

UpdateArrays arrays_of(const UpdateRange& range) {
  const auto floats = [](const TensorView& view) { return view.empty() ? nullptr : view.data<float>(); };
  return {.first = range.first,
          .count = range.master.elements().value(),
          .master = floats(range.master),
          .working = {range.working.raw(), range.working.dtype()},
          .gradient = {range.gradient.raw(), range.gradient.dtype()},
          .state = {floats(range.state[0]), floats(range.state[1])}};
}

void expect_range(std::string_view op, const UpdateRange& range, int states, const StepPointers& pointers) {
  const auto name = [op](std::string_view argument) { return fmt::format("{} {}", op, argument); };
  const Shape shape{range.master.elements().value()};
  TANDEM_EXPECT(range.first >= 0, "{}: expected a range that begins at 0 or later, found {}", op,
                range.first);
  expect_tensor(name("master"), range.master, DType::F32, shape);
  expect_float_dtype(name("gradient"), range.gradient.dtype());
  expect_tensor(name("gradient"), range.gradient, range.gradient.dtype(), shape);
  if (!range.working.empty()) {
    expect_float_dtype(name("working"), range.working.dtype());
    expect_tensor(name("working"), range.working, range.working.dtype(), shape);
  }
  for (int which = 0; which < states; ++which) {
    expect_tensor(name(fmt::format("state[{}]", which)), range.state[which], DType::F32, shape);
  }
  TANDEM_EXPECT(pointers.inputs != nullptr && pointers.training != nullptr,
                "{}: an update reads inputs and training: one is null", op);
}

class CudaSgd final : public OptimizerUpdate {
 public:
  CudaSgd(CudaDevice& device, const SgdSpec& spec)
      : factors_{spec.momentum, spec.nesterov}, segments_(device, spec.segments) {}

  int states() const override { return factors_.momentum > 0.0f ? 1 : 0; }
  void step(Stream& stream, const UpdateRange& range, StepPointers pointers) override {
    expect_range("sgd", range, states(), pointers);
    TANDEM_CUDA(launch_sgd(segments_.table(), arrays_of(range), factors_, pointers, as_cuda(stream).raw()));
  }

 private:
  SgdFactors factors_;
  DeviceSegments segments_;
};

class CudaAdamW final : public OptimizerUpdate {
 public:
  CudaAdamW(CudaDevice& device, const AdamWSpec& spec)
      : factors_{spec.beta1, spec.beta2, spec.epsilon}, segments_(device, spec.segments) {}

  int states() const override { return 2; }
  void step(Stream& stream, const UpdateRange& range, StepPointers pointers) override {
    expect_range("adamw", range, states(), pointers);
    TANDEM_CUDA(launch_adamw(segments_.table(), arrays_of(range), factors_, pointers, as_cuda(stream).raw()));
  }

 private:
  AdamWFactors factors_;
  DeviceSegments segments_;
};

}  // namespace

std::unique_ptr<OptimizerUpdate> make_cuda_sgd(CudaContext& context, const SgdSpec& spec) {
  expect_valid(spec);
  return std::make_unique<CudaSgd>(context.device(), spec);
}

std::unique_ptr<OptimizerUpdate> make_cuda_adamw(CudaContext& context, const AdamWSpec& spec) {
  expect_valid(spec);
  return std::make_unique<CudaAdamW>(context.device(), spec);
}

}  // namespace tandem

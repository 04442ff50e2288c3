// What tests of own kernels share: the context of the ops, memory of any kind, bounds.
#pragma once

#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "device/cpu/cpu_stream.h"
#include "gpu_test.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cuda/cuda_ops.h"

namespace tandem {

// Plain values in GPU memory: tokens, targets, the structs of a step.
template <class Value>
class GpuValues {
 public:
  GpuValues(CudaDevice& device, Stream& stream, std::span<const Value> values)
      : device_(&device), stream_(&stream), count_(values.size()), memory_(device.memory(), bytes()) {
    write(values);
  }

  Value* data() const { return static_cast<Value*>(memory_.data()); }
  TensorView view(const Shape& shape) const { return memory_.view(ByteCount(0), dtype_of<Value>(), shape); }

  void write(std::span<const Value> values) const {
    Buffer staging(device_->pinned_memory(), bytes());
    std::copy(values.begin(), values.end(), static_cast<Value*>(staging.data()));
    stream_->copy(memory_.data(), staging.data(), bytes());
    stream_->synchronize();
  }
  std::vector<Value> values() const {
    Buffer staging(device_->pinned_memory(), bytes());
    stream_->copy(staging.data(), memory_.data(), bytes());
    stream_->synchronize();
    const auto* first = static_cast<const Value*>(staging.data());
    return {first, first + count_};
  }

 private:
  ByteCount bytes() const { return ByteCount(static_cast<std::int64_t>(count_ * sizeof(Value))); }

  CudaDevice* device_;
  Stream* stream_;
  std::size_t count_;
  Buffer memory_;
};

class GpuOpTest : public GpuTest {
 protected:
  static void SetUpTestSuite() {
    GpuTest::SetUpTestSuite();
    if (device_) context_ = std::make_unique<CudaContext>(*device_, CudaBackendOptions{.autotune = false});
  }
  static void TearDownTestSuite() {
    context_.reset();
    GpuTest::TearDownTestSuite();
  }

  GpuTensor on_gpu(const HostTensor& values, DType dtype) const {
    return {*device_, *stream_, values, dtype};
  }
  GpuTensor unwritten(const Shape& shape, DType dtype) const { return {*device_, *stream_, shape, dtype}; }
  // Opaque memory (saved, workspace), poisoned.
  GpuTensor memory(ByteCount bytes) const {
    return {*device_, *stream_, Shape{std::max<std::int64_t>(bytes.value(), 1)}, DType::U8};
  }
  template <class Value>
  GpuValues<Value> values_on_gpu(const std::vector<Value>& values) const {
    return {*device_, *stream_, std::span<const Value>(values)};
  }

  inline static std::unique_ptr<CudaContext> context_;
  CpuStream cpu_;
};

// Own kernels compute in strict fp32: what remains is the storage dtype, rounded once or twice.
inline double own_tolerance(DType dtype) {
  switch (dtype) {
    case DType::BF16:
      return 5e-3;
    case DType::F16:
      return 7e-4;
    default:
      return 1e-5;
  }
}

inline const DType kFloatTypes[] = {DType::F32, DType::BF16, DType::F16};

// For tests over an array of specs and all float dtypes.
using SpecAndDType = std::tuple<int, DType>;
template <class Spec, std::size_t count>
auto all_of(const Spec (&)[count]) {
  return ::testing::Combine(::testing::Range(0, static_cast<int>(count)), ::testing::ValuesIn(kFloatTypes));
}
inline std::string name_of_case(const ::testing::TestParamInfo<SpecAndDType>& info) {
  return fmt::format("{}_{}", std::get<int>(info.param), name_of(std::get<DType>(info.param)));
}
inline std::string name_of_dtype(const ::testing::TestParamInfo<DType>& info) {
  return std::string(name_of(info.param));
}

}  // namespace tandem

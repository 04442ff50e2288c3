// What tests on a GPU share: the device, tensors in its memory, errors by dtype.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_stream.h"
#include "ops/cuda/cuda_context.h"
#include "support/host_tensor.h"

namespace tandem {

// Skips, with the driver's reason, where there is no GPU. One device, stream and set of libraries per suite.
class GpuTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (CudaDevice::availability().devices == 0) return;
    device_ = std::make_unique<CudaDevice>(CudaDeviceOptions{});
    stream_ = device_->make_stream(StreamRole::Compute);
  }
  static void TearDownTestSuite() {
    stream_.reset();
    device_.reset();
  }
  void SetUp() override {
    if (!device_) GTEST_SKIP() << "no GPU: " << CudaDevice::availability().reason;
  }

  inline static std::unique_ptr<CudaDevice> device_;
  inline static std::unique_ptr<Stream> stream_;
};

// The nearest value that `dtype` holds: references start from the very numbers that the GPU reads.
inline float rounded(float value, DType dtype) {
  if (dtype == DType::BF16) return __bfloat162float(__float2bfloat16_rn(value));
  if (dtype == DType::F16) return __half2float(__float2half_rn(value));
  return value;
}

inline HostTensor rounded(const HostTensor& tensor, DType dtype) {
  auto result = tensor.copy();
  for (float& value : result.values()) value = rounded(value, dtype);
  return result;
}

// A tensor in GPU memory. Poisoned (all bits set: NaN in every float dtype) until something is written.
class GpuTensor {
 public:
  GpuTensor(CudaDevice& device, Stream& stream, const Shape& shape, DType dtype)
      : device_(&device), stream_(&stream), shape_(shape), dtype_(dtype), memory_(device.memory(), bytes()) {
    if (bytes() > ByteCount(0))
      TANDEM_CUDA(cudaMemsetAsync(memory_.data(), 0xff, size(), as_cuda(stream).raw()));
  }
  GpuTensor(CudaDevice& device, Stream& stream, const HostTensor& values, DType dtype)
      : GpuTensor(device, stream, values.shape(), dtype) {
    Buffer staging(device.pinned_memory(), bytes());
    for (std::int64_t i = 0; i < values.elements(); ++i) store(staging.data(), i, values[i]);
    stream.copy(memory_.data(), staging.data(), bytes());
    stream.synchronize();
  }

  TensorView view() const { return memory_.view(ByteCount(0), dtype_, shape_); }

  // The values in fp32, after everything enqueued on the stream.
  HostTensor values() const {
    Buffer staging(device_->pinned_memory(), bytes());
    stream_->copy(staging.data(), memory_.data(), bytes());
    stream_->synchronize();
    HostTensor result(shape_);
    for (std::int64_t i = 0; i < result.elements(); ++i) result[i] = load(staging.data(), i);
    return result;
  }

 private:
  ByteCount bytes() const { return bytes_of(shape_.elements(), dtype_); }
  std::size_t size() const { return static_cast<std::size_t>(bytes().value()); }

  void store(void* memory, std::int64_t i, float value) const {
    if (dtype_ == DType::BF16) {
      static_cast<__nv_bfloat16*>(memory)[i] = __float2bfloat16_rn(value);
    } else if (dtype_ == DType::F16) {
      static_cast<__half*>(memory)[i] = __float2half_rn(value);
    } else {
      static_cast<float*>(memory)[i] = value;
    }
  }
  float load(const void* memory, std::int64_t i) const {
    if (dtype_ == DType::BF16) return __bfloat162float(static_cast<const __nv_bfloat16*>(memory)[i]);
    if (dtype_ == DType::F16) return __half2float(static_cast<const __half*>(memory)[i]);
    return static_cast<const float*>(memory)[i];
  }

  CudaDevice* device_;
  Stream* stream_;
  Shape shape_;
  DType dtype_;
  Buffer memory_;
};

// |actual - expected| / |expected|, both as vectors. NaN where anything is NaN, which fails every bound.
inline double relative_error(const HostTensor& actual, const HostTensor& expected) {
  double difference = 0.0;
  double norm = 0.0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double d = static_cast<double>(actual[i]) - expected[i];
    difference += d * d;
    norm += static_cast<double>(expected[i]) * expected[i];
  }
  return std::sqrt(difference) / std::max(std::sqrt(norm), 1e-30);
}

// What the storage dtype alone costs, with room for intermediate roundings. fp32 stands for TF32: 10 bits.
inline double tolerance(DType dtype) {
  switch (dtype) {
    case DType::BF16:
      return 1e-2;
    case DType::F16:
      return 2e-3;
    default:
      return 1e-3;
  }
}

inline void expect_near(const std::string& what, const GpuTensor& actual, const HostTensor& expected,
                        double bound) {
  const double error = relative_error(actual.values(), expected);
  EXPECT_TRUE(error <= bound) << what << ": relative error " << error << ", allowed " << bound;
}

}  // namespace tandem

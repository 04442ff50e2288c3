#include <gtest/gtest.h>

#include <ostream>

#include "device/cpu/cpu_stream.h"
#include "gpu_test.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cuda/cuda_ops.h"

namespace tandem {

void PrintTo(const AttentionSpec& s, std::ostream* out) {
  *out << fmt::format("B{} T{} heads{} D{} {}", s.B, s.T, s.heads, s.D, name_of(s.dtype));
}

namespace {

// Fused ones (16 bit, D a multiple of 8) on whole and on odd lengths, then those that go by matrix products.
const AttentionSpec kSpecs[] = {
    {.B = 2, .T = 128, .heads = 3, .D = 64, .dtype = DType::BF16},
    {.B = 3, .T = 200, .heads = 2, .D = 64, .dtype = DType::BF16},
    {.B = 1, .T = 77, .heads = 4, .D = 128, .dtype = DType::F16},
    {.B = 2, .T = 64, .heads = 2, .D = 32, .dtype = DType::F16},
    {.B = 2, .T = 65, .heads = 3, .D = 64, .dtype = DType::F32},
    {.B = 3, .T = 33, .heads = 2, .D = 7, .dtype = DType::F32},
    {.B = 1, .T = 1, .heads = 1, .D = 16, .dtype = DType::F32},
    {.B = 2, .T = 50, .heads = 2, .D = 20, .dtype = DType::BF16},
};

class CudaAttentionTest : public GpuTest, public ::testing::WithParamInterface<AttentionSpec> {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    spec_ = GetParam();
    const auto channels = spec_.heads * spec_.D;
    qkv_ = rounded(HostTensor::random({spec_.B * spec_.T, 3 * channels}, 1), spec_.dtype);
    d_out_ = rounded(HostTensor::random({spec_.B * spec_.T, channels}, 2), spec_.dtype);
  }

  // Runs forward and backward on the GPU and compares both with the CPU's.
  void compare(const CudaBackendOptions& options) {
    CudaContext context(*device_, options);
    const auto op = make_cuda_attention(context, spec_);
    auto cpu_spec = spec_;
    cpu_spec.dtype = DType::F32;
    const auto reference = make_cpu_attention(cpu_spec);
    const auto out_expected = HostTensor::unwritten(d_out_.shape());
    const auto d_qkv_expected = HostTensor::unwritten(qkv_.shape());
    const auto saved_host = HostTensor::opaque(reference->saved_bytes());
    const auto scratch = HostTensor::opaque(reference->workspace_bytes());
    CpuStream cpu;
    reference->forward(cpu, qkv_.view(), out_expected.view(), saved_host.view(), scratch.view());
    reference->backward(cpu, {qkv_.view(), out_expected.view(), d_out_.view(), saved_host.view(),
                              d_qkv_expected.view(), scratch.view()});
    cpu.synchronize();

    const GpuTensor qkv(*device_, *stream_, qkv_, spec_.dtype),
        d_out(*device_, *stream_, d_out_, spec_.dtype);
    const GpuTensor out(*device_, *stream_, d_out_.shape(), spec_.dtype);
    const GpuTensor d_qkv(*device_, *stream_, qkv_.shape(), spec_.dtype);
    const GpuTensor saved(*device_, *stream_, Shape{op->saved_bytes().value()}, DType::U8);
    const GpuTensor workspace(*device_, *stream_, Shape{op->workspace_bytes().value()}, DType::U8);
    op->forward(*stream_, qkv.view(), out.view(), saved.view(), workspace.view());
    op->backward(*stream_,
                 {qkv.view(), out.view(), d_out.view(), saved.view(), d_qkv.view(), workspace.view()});
    expect_near("out", out, out_expected, tolerance(spec_.dtype));
    expect_near("d_qkv", d_qkv, d_qkv_expected, 2.0 * tolerance(spec_.dtype));
    first_gradient_ = d_qkv.values();
    op->backward(*stream_,
                 {qkv.view(), out.view(), d_out.view(), saved.view(), d_qkv.view(), workspace.view()});
    second_gradient_ = d_qkv.values();
  }

  AttentionSpec spec_;
  HostTensor qkv_, d_out_, first_gradient_, second_gradient_;
};

TEST_P(CudaAttentionTest, ForwardAndBackward) {
  compare({});
}

TEST_P(CudaAttentionTest, DeterministicGradientsAreTheSameBits) {
  compare({.deterministic = true});
  if (!HasFailure()) expect_same("d_qkv", second_gradient_, first_gradient_);
}

INSTANTIATE_TEST_SUITE_P(Specs, CudaAttentionTest, ::testing::ValuesIn(kSpecs));

}  // namespace
}  // namespace tandem

// Pooling by own kernels.
#include <limits>

#include "device/cuda/cuda_stream.h"
#include "ops/check.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/pool_kernels.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

PoolShape shape_of(const PoolSpec& spec) {
  const auto narrow = [](std::int64_t extent) { return static_cast<int>(extent); };
  return {.N = narrow(spec.N),
          .H = narrow(spec.H),
          .W = narrow(spec.W),
          .C = narrow(spec.C),
          .P = narrow(spec.P()),
          .Q = narrow(spec.Q()),
          .window_h = narrow(spec.window_h),
          .window_w = narrow(spec.window_w),
          .stride = narrow(spec.stride),
          .padding = narrow(spec.padding),
          .maximum = spec.kind == PoolKind::Max,
          .dtype = spec.dtype};
}

class CudaPool final : public Pool {
 public:
  explicit CudaPool(const PoolSpec& spec) : spec_(spec), shape_(shape_of(spec)) {}

  ByteCount saved_bytes() const override { return ByteCount(pool_winner_bytes(shape_)); }

  void forward(Stream& stream, TensorView x, TensorView y, TensorView saved) override {
    expect_tensor("pool x", x, spec_.dtype, image_shape());
    expect_tensor("pool y", y, spec_.dtype, output_shape());
    expect_memory("pool saved", saved, saved_bytes());
    TANDEM_CUDA(launch_pool_forward(shape_, x.raw(), y.raw(), saved.raw(), as_cuda(stream).raw()));
  }

  void backward(Stream& stream, Addends dy, TensorView saved, TensorView dx) override {
    expect_tensor("pool dy.first", dy.first, spec_.dtype, output_shape());
    if (!dy.second.empty()) expect_tensor("pool dy.second", dy.second, spec_.dtype, output_shape());
    expect_tensor("pool dx", dx, spec_.dtype, image_shape());
    expect_memory("pool saved", saved, saved_bytes());
    TANDEM_CUDA(launch_pool_backward(shape_, dy.first.raw(), dy.second.raw(), saved.raw(), dx.raw(),
                                     as_cuda(stream).raw()));
  }

 private:
  Shape image_shape() const { return {spec_.N, spec_.H, spec_.W, spec_.C}; }
  Shape output_shape() const { return {spec_.N, spec_.P(), spec_.Q(), spec_.C}; }

  PoolSpec spec_;
  PoolShape shape_;
};

}  // namespace

std::unique_ptr<Pool> make_cuda_pool(CudaContext&, const PoolSpec& spec) {
  expect_valid(spec);
  expect_float_dtype("pool", spec.dtype);
  TANDEM_EXPECT(spec.window_h * spec.window_w <= std::numeric_limits<std::uint16_t>::max(),
                "pool: expected a window of at most 65535 elements, found {} x {}", spec.window_h,
                spec.window_w);
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  TANDEM_EXPECT(spec.N * spec.H * spec.W * spec.C <= most && spec.N * spec.P() * spec.Q() * spec.C <= most,
                "pool: expected at most {} elements, found N={} H={} W={} C={}", most, spec.N, spec.H, spec.W,
                spec.C);
  return std::make_unique<CudaPool>(spec);
}

}  // namespace tandem

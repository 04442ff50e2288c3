#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <ostream>
#include <tuple>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "support/finite_difference.h"
#include "support/host_tensor.h"

namespace tandem {
namespace {

// The op with everything it reads and writes.
struct Fixture {
  struct Branch {
    HostTensor x, scale, bias, running_mean, running_variance, dx, d_scale, d_bias;

    Branch(const Shape& shape, std::uint32_t seed)
        : x(HostTensor::random(shape, seed, -2.0f, 3.0f)),
          scale(HostTensor::random({shape[1]}, seed + 1, 0.5f, 1.5f)),
          bias(HostTensor::random({shape[1]}, seed + 2)),
          running_mean(HostTensor::random({shape[1]}, seed + 3)),
          running_variance(HostTensor::random({shape[1]}, seed + 4, 0.5f, 2.0f)),
          dx(HostTensor::unwritten(shape)),
          d_scale(HostTensor::unwritten({shape[1]})),
          d_bias(HostTensor::unwritten({shape[1]})) {}

    BatchNormParameters parameters() const {
      return {scale.view(), bias.view(), running_mean.view(), running_variance.view()};
    }
    DualBatchNorm::BranchGradient gradient() const {
      return {dx.view(), {d_scale.view(), GradMode::Overwrite}, {d_bias.view(), GradMode::Overwrite}};
    }
  };

  explicit Fixture(const BatchNormSpec& s)
      : spec(s),
        op(make_cpu_dual_batch_norm(s)),
        branches{{{{s.rows, s.C}, 1}, {{s.rows, s.C}, 11}}},
        dy(HostTensor::random({s.rows, s.C}, 21)),
        y(HostTensor::unwritten({s.rows, s.C})),
        saved(HostTensor::opaque(op->saved_bytes())),
        workspace(HostTensor::opaque(op->workspace_bytes())) {}

  DualBatchNorm::Branches views() const {
    return {
        {{branches[0].x.view(), branches[0].parameters()}, {branches[1].x.view(), branches[1].parameters()}}};
  }
  void forward_train() {
    op->forward_train(stream, views(), y.view(), saved.view(), workspace.view());
    stream.synchronize();
  }
  void backward(Addends gradient) {
    op->backward(stream, views(),
                 {.dy = gradient,
                  .saved = saved.view(),
                  .branches = {branches[0].gradient(), branches[1].gradient()},
                  .workspace = workspace.view()});
    stream.synchronize();
  }

  BatchNormSpec spec;
  std::unique_ptr<DualBatchNorm> op;
  std::array<Branch, 2> branches;
  HostTensor dy, y, saved, workspace;
  CpuStream stream;
};

class DualBatchNormTest : public ::testing::TestWithParam<std::tuple<std::pair<int, int>, NormStatistics>> {
 protected:
  static BatchNormSpec spec() {
    const auto& [extents, statistics] = GetParam();
    return {.rows = extents.first,
            .C = extents.second,
            .statistics = statistics,
            .tail = NormTail::AddRelu,
            .momentum = 0.3f};
  }
  Fixture f_{spec()};

  // relu of the sum of two separate normalisations.
  HostTensor separately(bool training) {
    auto plain = f_.spec;
    plain.tail = NormTail::None;
    const auto op = make_cpu_batch_norm(plain);
    auto sum = HostTensor({plain.rows, plain.C});
    for (const auto& branch : f_.branches) {
      const auto part = HostTensor::unwritten({plain.rows, plain.C});
      const auto saved = HostTensor::opaque(op->saved_bytes());
      const auto mean = branch.running_mean.copy(), variance = branch.running_variance.copy();
      const BatchNormParameters parameters{branch.scale.view(), branch.bias.view(), mean.view(),
                                           variance.view()};
      if (training) {
        op->forward_train(f_.stream, branch.x.view(), {}, parameters, part.view(), saved.view(), {});
      } else {
        op->forward_evaluate(f_.stream, branch.x.view(), {}, parameters, part.view());
      }
      f_.stream.synchronize();
      for (std::int64_t i = 0; i < sum.elements(); ++i) sum[i] += part[i];
    }
    for (float& value : sum.values()) value = std::max(value, 0.0f);
    return sum;
  }
};

TEST_P(DualBatchNormTest, IsTheSumOfTwoNorms) {
  const auto trained = separately(true);
  f_.forward_train();
  expect_close("y", f_.y, trained, 1e-6);
  const auto evaluated = separately(false);
  f_.op->forward_evaluate(f_.stream, f_.views(), f_.y.view(), f_.workspace.view());
  f_.stream.synchronize();
  expect_close("y of evaluation", f_.y, evaluated, 1e-6);
}

TEST_P(DualBatchNormTest, GradientsAgreeWithDifferences) {
  f_.forward_train();
  f_.backward({f_.dy.view(), {}});
  const auto loss = [&] {
    f_.forward_train();
    return dot(f_.y, f_.dy);
  };
  const GradientCheck of_channels{.step = 1e-3f, .tolerance = 1e-2};
  for (const auto& branch : f_.branches) {
    expect_gradient("x", branch.x, branch.dx, loss);
    expect_gradient("scale", branch.scale, branch.d_scale, loss, of_channels);
    expect_gradient("bias", branch.bias, branch.d_bias, loss, of_channels);
  }
}

TEST_P(DualBatchNormTest, TwoAddendsAreTheirSum) {
  f_.forward_train();
  for (float& value : f_.dy.values()) value = std::round(8.0f * value) / 4.0f;  // halves are exact
  f_.backward({f_.dy.view(), {}});
  const auto first = f_.branches[0].dx.copy(), second = f_.branches[1].dx.copy();
  const auto half = f_.dy.copy();
  for (float& value : half.values()) value *= 0.5f;
  f_.backward({half.view(), half.view()});
  expect_same("dx of branch 0", f_.branches[0].dx, first);
  expect_same("dx of branch 1", f_.branches[1].dx, second);
}

INSTANTIATE_TEST_SUITE_P(Shapes, DualBatchNormTest,
                         ::testing::Combine(::testing::Values(std::pair(77, 16), std::pair(700, 33)),
                                            ::testing::Values(NormStatistics::Batch, NormStatistics::Running,
                                                              NormStatistics::Identity)));

TEST(DualBatchNorm, WrongTensorsAndSpecsThrow) {
  Fixture f({.rows = 4, .C = 3, .tail = NormTail::AddRelu});
  EXPECT_THROW(f.op->forward_train(f.stream, f.views(), f.y.view(), {}, f.workspace.view()), Error);
  EXPECT_THROW(f.op->forward_train(f.stream, f.views(), f.y.view(), f.saved.view(), {}), Error);
  auto branches = f.views();
  branches[1].x = branches[1].x.reshaped({3, 4});
  EXPECT_THROW(f.op->forward_evaluate(f.stream, branches, f.y.view(), f.workspace.view()), Error);
  EXPECT_THROW((void)make_cpu_dual_batch_norm({.rows = 4, .C = 3, .tail = NormTail::Relu}), Error);
}

}  // namespace
}  // namespace tandem

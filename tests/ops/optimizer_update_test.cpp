#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "support/host_tensor.h"

namespace tandem {
namespace {

constexpr std::int64_t kElements = 5000;
constexpr int kSteps = 10;

// Two decayed stretches, one without decay, padding between and behind, and an empty one.
const std::vector<UpdateSegment> kSegments = {
    {0, 1500, 0.1f}, {1536, 1600, 0.0f}, {1664, 1664, 0.5f}, {1700, 4900, 0.02f}};

// Where the flat arrays are cut: within segments, within padding, at a segment's edge, one element long.
const std::vector<std::int64_t> kCuts = {0, 700, 701, 1520, 1600, 3000, kElements};

double decay_of(std::int64_t element, bool& is_padding) {
  for (const auto& segment : kSegments) {
    if (element >= segment.begin && element < segment.end) {
      is_padding = false;
      return static_cast<double>(segment.weight_decay);
    }
  }
  is_padding = true;
  return 0.0;
}

struct Reference {
  double weight;
  double state[2] = {0.0, 0.0};
};

class UpdateTest : public ::testing::Test {
 protected:
  // The part of all arrays between two cuts.
  UpdateRange range(std::int64_t begin, std::int64_t end, int states) {
    const auto part = [&](const HostTensor& whole) {
      return TensorView(whole.view().data<float>() + begin, DType::F32, {end - begin});
    };
    UpdateRange result{
        .first = begin, .master = part(weights_), .working = {}, .gradient = part(gradients_), .state = {}};
    for (int which = 0; which < states; ++which) result.state[which] = part(states_[which]);
    return result;
  }

  void step(OptimizerUpdate& op) {
    for (std::size_t i = 0; i + 1 < kCuts.size(); ++i) {
      op.step(stream_, range(kCuts[i], kCuts[i + 1], op.states()), {&inputs_, &training_, nullptr});
    }
    stream_.synchronize();
  }

  // Ten steps of the op beside the same in double by `scalar`(element state, gradient, decay, step from 1).
  template <class Scalar>
  void expect_follows(OptimizerUpdate& op, Scalar scalar) {
    const auto first_weights = weights_.copy();
    std::vector<Reference> expected;
    for (const float weight : weights_.values()) expected.push_back({static_cast<double>(weight)});
    for (int t = 1; t <= kSteps; ++t) {
      begin_step(t);
      for (std::int64_t i = 0; i < kElements; ++i) {
        bool is_padding = false;
        const double decay = decay_of(i, is_padding);
        const double gradient =
            static_cast<double>(gradients_[i]) / training_.loss_scale * training_.clip_factor;
        if (!is_padding) scalar(expected[static_cast<std::size_t>(i)], gradient, decay, t);
      }
      step(op);
      ++training_.applied_steps;
    }
    for (std::int64_t i = 0; i < kElements; ++i) {
      const auto& reference = expected[static_cast<std::size_t>(i)];
      bool is_padding = false;
      (void)decay_of(i, is_padding);
      if (is_padding) {
        ASSERT_EQ(weights_[i], first_weights[i]) << i;
        for (int which = 0; which < op.states(); ++which) ASSERT_EQ(states_[which][i], 0.0f) << i;
        continue;
      }
      ASSERT_NEAR(weights_[i], reference.weight, 3e-6) << i;
      for (int which = 0; which < op.states(); ++which) {
        ASSERT_NEAR(states_[which][i], reference.state[which], 3e-6) << i << " state " << which;
      }
    }
  }

  void begin_step(int t) {
    gradients_ = HostTensor::random({kElements}, static_cast<std::uint32_t>(100 + t), -8.0f, 8.0f);
    inputs_.learning_rate = 0.01f * static_cast<float>(t);
    training_.clip_factor = t % 2 == 0 ? 0.5f : 1.0f;
    training_.loss_scale = t < 5 ? 16.0f : 8.0f;
  }

  void expect_skips(OptimizerUpdate& op) {
    const auto weights = weights_.copy();
    for (auto& state : states_) state = HostTensor::random({kElements}, 9, 0.0f, 1.0f);
    const auto state_0 = states_[0].copy();
    const auto state_1 = states_[1].copy();
    gradients_[17] = std::numeric_limits<float>::infinity();
    inputs_.learning_rate = 0.1f;
    training_.finite = 0;
    step(op);
    expect_same("weights", weights_, weights);
    expect_same("state 0", states_[0], state_0);
    expect_same("state 1", states_[1], state_1);
    training_.finite = 1;
    gradients_[17] = 1.0f;
    step(op);
    EXPECT_NE(weights_[17], weights[17]);
  }

  // Buckets may be planned anew and ranks may share the update out: neither may change a bit.
  void expect_same_however_cut(OptimizerUpdate& op) {
    const auto weights = weights_.copy();
    inputs_.learning_rate = 0.1f;
    step(op);
    const auto cut = weights_.copy();
    std::ranges::copy(weights.values(), weights_.values().begin());
    for (auto& state : states_) state = HostTensor({kElements});
    op.step(stream_, range(0, kElements, op.states()), {&inputs_, &training_, nullptr});
    stream_.synchronize();
    expect_same("weights", weights_, cut);
  }

  CpuStream stream_;
  StepInputs inputs_;
  TrainingState training_;
  HostTensor weights_ = HostTensor::random({kElements}, 1);
  HostTensor gradients_ = HostTensor::random({kElements}, 2);
  HostTensor states_[2] = {HostTensor({kElements}), HostTensor({kElements})};
};

class SgdTest : public UpdateTest, public ::testing::WithParamInterface<SgdSpec> {};

TEST_P(SgdTest, FollowsTheFormula) {
  auto spec = GetParam();
  spec.segments = kSegments;
  const auto op = make_cpu_sgd(spec);
  EXPECT_EQ(op->states(), spec.momentum > 0.0f ? 1 : 0);
  expect_follows(*op, [&](Reference& element, double gradient, double decay, int) {
    const double descent = gradient + decay * element.weight;
    element.state[0] = spec.momentum * element.state[0] + descent;
    const double direction = spec.nesterov ? descent + spec.momentum * element.state[0] : element.state[0];
    element.weight -= static_cast<double>(inputs_.learning_rate) * direction;
  });
}

TEST_P(SgdTest, SkipLeavesAllBits) {
  auto spec = GetParam();
  spec.segments = kSegments;
  expect_skips(*make_cpu_sgd(spec));
}

TEST_P(SgdTest, CutsDoNotMatter) {
  auto spec = GetParam();
  spec.segments = kSegments;
  expect_same_however_cut(*make_cpu_sgd(spec));
}

INSTANTIATE_TEST_SUITE_P(Specs, SgdTest,
                         ::testing::Values(SgdSpec{}, SgdSpec{.momentum = 0.9f},
                                           SgdSpec{.momentum = 0.8f, .nesterov = true}));

using AdamWTest = UpdateTest;

TEST_F(AdamWTest, FollowsTheFormula) {
  const AdamWSpec spec{.beta1 = 0.9f, .beta2 = 0.95f, .epsilon = 1e-3f, .segments = kSegments};
  const auto op = make_cpu_adamw(spec);
  EXPECT_EQ(op->states(), 2);
  expect_follows(*op, [&](Reference& element, double gradient, double decay, int t) {
    const double beta1 = spec.beta1;
    const double beta2 = spec.beta2;
    const double rate = inputs_.learning_rate;
    element.weight -= rate * decay * element.weight;
    element.state[0] = beta1 * element.state[0] + (1.0 - beta1) * gradient;
    element.state[1] = beta2 * element.state[1] + (1.0 - beta2) * gradient * gradient;
    const double first = element.state[0] / (1.0 - std::pow(beta1, t));
    const double second = element.state[1] / (1.0 - std::pow(beta2, t));
    element.weight -= rate * first / (std::sqrt(second) + static_cast<double>(spec.epsilon));
  });
}

TEST_F(AdamWTest, SkipLeavesAllBits) {
  expect_skips(*make_cpu_adamw({.segments = kSegments}));
}

// The first step of Adam moves every weight by the learning rate, whatever the gradient's size: only with
// both corrections right. Skipped steps must not count.
TEST_F(AdamWTest, BiasCorrectionCountsAppliedSteps) {
  const auto op = make_cpu_adamw({.epsilon = 1e-12f, .segments = {{0, kElements, 0.0f}}});
  const auto before = weights_.copy();
  inputs_.step = 500;  // attempted, all skipped
  inputs_.learning_rate = 0.25f;
  step(*op);
  for (std::int64_t i = 0; i < kElements; ++i) {
    ASSERT_NEAR(std::abs(weights_[i] - before[i]), 0.25f, 1e-5f) << i << " " << gradients_[i];
  }
}

TEST_F(AdamWTest, CutsDoNotMatter) {
  expect_same_however_cut(*make_cpu_adamw({.segments = kSegments}));
}

TEST_F(UpdateTest, WrongRangesAndSpecsThrow) {
  const auto op = make_cpu_adamw({.segments = kSegments});
  const StepPointers pointers{&inputs_, &training_, nullptr};
  const HostTensor short_one({7}), sixteen_bit({kElements}, DType::BF16);
  EXPECT_NO_THROW(op->step(stream_, range(0, kElements, 2), pointers));
  stream_.synchronize();
  EXPECT_THROW(op->step(stream_, range(0, kElements, 1), pointers), Error);
  EXPECT_THROW(op->step(stream_, range(0, kElements, 2), {}), Error);
  auto bad = range(0, kElements, 2);
  bad.gradient = short_one.view();
  EXPECT_THROW(op->step(stream_, bad, pointers), Error);
  bad = range(0, kElements, 2);
  bad.gradient = sixteen_bit.view();
  EXPECT_THROW(op->step(stream_, bad, pointers), Error);
  bad = range(0, kElements, 2);
  bad.working = sixteen_bit.view();
  EXPECT_THROW(op->step(stream_, bad, pointers), Error);
  EXPECT_THROW((void)make_cpu_adamw({.segments = {{0, 10, 0.0f}, {9, 20, 0.0f}}}), Error);
  EXPECT_THROW((void)make_cpu_adamw({.beta2 = 1.0f}), Error);
  EXPECT_THROW((void)make_cpu_adamw({.epsilon = 0.0f}), Error);
  EXPECT_THROW((void)make_cpu_sgd({.segments = {{10, 5, 0.0f}}}), Error);
  EXPECT_THROW((void)make_cpu_sgd({.momentum = 1.0f}), Error);
  EXPECT_THROW((void)make_cpu_sgd({.nesterov = true}), Error);
}

}  // namespace
}  // namespace tandem

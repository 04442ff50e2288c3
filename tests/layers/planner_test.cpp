#include "layers/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/dropout_layer.h"
#include "support/silent_backend.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;

class PlannerTest : public ::testing::Test {
 protected:
  ParamId weight(const std::string& name) {
    return plan_.parameter({.name = name, .canonical = {2, 2}, .stored = {2, 2}});
  }

  SilentBackend backend_;
  Planner plan_{backend_, DType::BF16};
};

TEST_F(PlannerTest, NamesAreThePathOfOpenScopes) {
  {
    const auto layer = plan_.scope("layer1");
    const auto block = plan_.scope("0");
    weight("conv1.weight");
  }
  weight("fc.weight");
  const auto plan = plan_.finish();
  EXPECT_EQ(plan.parameters[0].name, "layer1.0.conv1.weight");
  EXPECT_EQ(plan.parameters[1].name, "fc.weight");
}

TEST_F(PlannerTest, NormAndBiasStayFp32) {
  weight("weight");
  plan_.parameter({.name = "bias", .canonical = {2}, .stored = {2}, .group = OptimizerGroup::NormAndBias});
  const auto plan = plan_.finish();
  EXPECT_EQ(plan.parameters[0].compute, DType::BF16);
  EXPECT_EQ(plan.parameters[1].compute, DType::F32);
}

TEST_F(PlannerTest, TiedWeightIsReadyAfterItsLastWrite) {
  const auto table = weight("table");
  const auto first = weight("first");
  const auto second = weight("second");
  for (const auto id : {table, second, first, table}) plan_.gradient(id);  // head, layers, embedding
  const auto plan = plan_.finish();
  EXPECT_THAT(plan.ready_order(), ElementsAre(second, first, table));
  EXPECT_THAT(plan.gradient_uses(), ElementsAre(2, 1, 1));
}

TEST_F(PlannerTest, PositionsAreOneTensorForAllDropouts) {
  EXPECT_FALSE(plan_.positions().valid());
  const auto positions = plan_.sample_positions(4);
  EXPECT_EQ(plan_.sample_positions(4), positions);
  EXPECT_EQ(plan_.positions(), positions);
  EXPECT_THROW(plan_.sample_positions(5), Error);
}

class RepeatedOpsTest : public PlannerTest {
 protected:
  // input -> [ a -> b ] -> after; gives the ops in brackets to be repeated.
  void plan_block() {
    plan_.op({writes(input_)});
    first_ = plan_.ops_announced();
    plan_.op({reads(input_), writes(a_), updates(workspace_)});
    plan_.multiply_adds(100);
    plan_.op({reads(a_), writes(b_), reads(positions_)});
    end_ = plan_.ops_announced();
    plan_.op({reads(b_), writes(after_)});
  }

  TensorId tensor(const char* name) { return plan_.tensor(name, {4, 4}); }
  TensorId input_ = tensor("input"), a_ = tensor("a"), b_ = tensor("b"), after_ = tensor("after");
  TensorId workspace_ = plan_.bytes("workspace", ByteCount(16));
  TensorId positions_ = plan_.sample_positions(4);
  std::size_t first_ = 0, end_ = 0;
};

TEST_F(RepeatedOpsTest, AreTheSameUsesAgainAndNoWorkOfTheModel) {
  plan_block();
  plan_.begin_backward();
  {
    const auto scope = plan_.scope("h");
    const auto block = plan_.scope("7");
    plan_.repeat(first_, end_);
  }
  const auto plan = plan_.finish();
  ASSERT_EQ(plan.ops.size(), 6u);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(plan.ops[4 + i].size(), plan.ops[1 + i].size());
    for (std::size_t use = 0; use < plan.ops[1 + i].size(); ++use) {
      EXPECT_EQ(plan.ops[4 + i][use].tensor, plan.ops[1 + i][use].tensor);
      EXPECT_EQ(plan.ops[4 + i][use].access, plan.ops[1 + i][use].access);
    }
  }
  EXPECT_EQ(plan.multiply_adds, 100);
  EXPECT_THAT(plan.recomputed, ElementsAre("h.7"));
  EXPECT_EQ(plan.ops_in(Mode::Evaluate), 4u);
}

TEST_F(RepeatedOpsTest, AreRefusedWhereTheirInputHasChanged) {
  plan_block();
  plan_.op({updates(input_)});
  EXPECT_THROW(plan_.repeat(first_, end_), Error);
}

TEST_F(RepeatedOpsTest, AreRefusedWhereOthersHaveChangedTheirOutput) {
  plan_block();
  plan_.op({updates(b_)});
  EXPECT_THROW(plan_.repeat(first_, end_), Error);
}

TEST_F(RepeatedOpsTest, AreRefusedWhereTheyChangeTheirInput) {
  plan_.op({writes(input_)});
  plan_.op({updates(input_)});
  EXPECT_THROW(plan_.repeat(1, 2), Error);
  EXPECT_THROW(plan_.repeat(1, 3), Error) << "there are only two";
}

TEST_F(PlannerTest, DropoutOfNothingPlansNothing) {
  DropoutLayer layer({.probability = 0.0f});
  const auto x = Flow::of(plan_.tensor("x", {4, 4}));
  EXPECT_EQ(layer.plan_forward(plan_, x).first, x.first);
  EXPECT_EQ(layer.plan_backward(plan_, x).first, x.first);
  EXPECT_FALSE(plan_.positions().valid());
  EXPECT_TRUE(plan_.finish().ops.empty());
}

}  // namespace
}  // namespace tandem

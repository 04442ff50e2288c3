#include "layers/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layers/planner.h"
#include "support/planned_run.h"
#include "support/silent_backend.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.message();
  }
  return "nothing was thrown";
}

// x -> (a, scratch) -> b, and backward a -> da.
class ContextTest : public ::testing::Test {
 protected:
  ContextTest() {
    Planner plan(backend_, DType::F32);
    x_ = plan.external("x", {4}, DType::F32);
    a_ = plan.tensor("a", {4});
    b_ = plan.tensor("b", {2, 2});
    da_ = plan.tensor("da", {4});
    scratch_ = plan.bytes("scratch", ByteCount(8));
    plan.op({reads(x_), writes(a_), updates(scratch_)});
    plan.op({reads(a_), writes(b_)});
    plan.begin_backward();
    plan.op({reads(a_), writes(da_)});
    run_.emplace(plan.finish());
    context().bind_external(x_, memory_.view());
  }

  Context& context() { return run_->context; }

  void forward() {
    context().read(x_);
    context().write(a_);
    context().update(scratch_);
    context().read(a_);
    context().write(b_);
  }
  void backward() {
    context().read(a_);
    context().write(da_);
  }

  SilentBackend backend_;
  TensorId x_, a_, b_, da_, scratch_;
  HostTensor memory_{{4}};
  std::optional<PlannedRun> run_;
};

TEST_F(ContextTest, GivesViewsAsPlanned) {
  run_->begin(Mode::Train);
  EXPECT_EQ(context().read(x_).raw(), memory_.view().raw());
  const auto a = context().write(a_);
  EXPECT_EQ(a.shape(), Shape({4}));
  EXPECT_EQ(context().update(scratch_).dtype(), DType::U8);
  EXPECT_EQ(context().read(a_).raw(), a.raw());
  EXPECT_EQ(context().write(b_).shape(), Shape({2, 2}));
  backward();
  EXPECT_NO_THROW(context().expect_finished());
}

TEST_F(ContextTest, OrderWithinAnOpIsFree) {
  run_->begin(Mode::Evaluate);
  context().update(scratch_);
  context().write(a_);
  context().read(x_);
  context().write(b_);
  context().read(a_);
  EXPECT_NO_THROW(context().expect_finished());
}

TEST_F(ContextTest, InvalidTensorIsNoUse) {
  run_->begin(Mode::Evaluate);
  EXPECT_TRUE(context().read(TensorId{}).empty());
  forward();
  EXPECT_NO_THROW(context().expect_finished());
}

TEST_F(ContextTest, RefusesAnotherAccess) {
  run_->begin(Mode::Train);
  const auto message = message_of([&] { context().read(a_); });
  EXPECT_THAT(message, HasSubstr("read of a"));
  EXPECT_THAT(message, HasSubstr("writes a"));
}

TEST_F(ContextTest, RefusesASecondUse) {
  run_->begin(Mode::Train);
  context().read(x_);
  EXPECT_THROW(context().read(x_), Error);
}

TEST_F(ContextTest, RefusesTheNextOpBeforeThisOneIsDone) {
  run_->begin(Mode::Train);
  context().read(x_);
  context().write(a_);
  EXPECT_THROW(context().write(b_), Error);  // the scratch was never asked for
}

TEST_F(ContextTest, RefusesBackwardInEvaluation) {
  run_->begin(Mode::Evaluate);
  forward();
  EXPECT_THAT(message_of([&] { context().read(a_); }), HasSubstr("the end of the pass"));
}

TEST_F(ContextTest, RefusesAnythingAfterTheLastOp) {
  run_->begin(Mode::Train);
  forward();
  backward();
  EXPECT_THROW(context().read(a_), Error);
}

TEST_F(ContextTest, KnowsAPassThatStoppedShort) {
  run_->begin(Mode::Train);
  forward();
  EXPECT_THAT(message_of([&] { context().expect_finished(); }), HasSubstr("2 of 3"));
}

TEST_F(ContextTest, BeginForgetsTheOpThatWasLeftInTheMiddle) {
  run_->begin(Mode::Train);
  context().read(x_);
  run_->begin(Mode::Evaluate);
  forward();
  EXPECT_NO_THROW(context().expect_finished());
}

TEST_F(ContextTest, BoundMemoryMustFit) {
  EXPECT_THROW(context().bind_external(x_, HostTensor({5}).view()), Error);
  EXPECT_THROW(context().bind_external(x_, HostTensor({4}, DType::I32).view()), Error);
}

TEST(ContextWithoutMemory, UnboundExternalIsRefused) {
  SilentBackend backend;
  Planner plan(backend, DType::F32);
  const auto x = plan.external("x", {4}, DType::F32);
  plan.op({reads(x)});
  plan.begin_backward();
  PlannedRun run(plan.finish());
  run.begin(Mode::Train);
  EXPECT_THAT(message_of([&] { run.context.read(x); }), HasSubstr("never bound"));
}

}  // namespace
}  // namespace tandem

// Models whose blocks run forward twice: the same bits in less memory.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "models/registry.h"
#include "optim/optimizer.h"
#include "support/memory_property.h"
#include "support/model_run.h"
#include "support/silent_backend.h"

namespace tandem {
namespace {

ModelSpec gpt(bool recompute) {
  return {.name = "gpt",
          .layers = 3,
          .heads = 2,
          .channels = 16,
          .context = 8,
          .vocab = 32,
          .dropout = 0.2f,
          .seed = 3,
          .recompute_blocks = recompute};
}

constexpr std::int64_t kSamples = 4;

// Trains with AdamW, a batch of its own in each step, and keeps the bits of every gradient.
class TrainedModel {
 public:
  explicit TrainedModel(bool recompute)
      : model_(make_model(gpt(recompute), kSamples), {.optimizer_states = optimizer_states(kRule)}),
        optimizer_(model_.backend(), store(), kRule) {}

  void train(std::int64_t first, std::int64_t end) {
    const auto all = store().everything();
    for (auto step = first; step < end; ++step) {
      fill_batch(step);
      model_.inputs().step = step;
      model_.inputs().learning_rate = 1e-2f;
      losses_.push_back(model_.pass(Mode::Train).loss_sum);
      append(store().gradients(all), gradients_);
      optimizer_.step(all, model_.pointers(), stream());
      model_.backend().make_step_bookkeeping(false)->end(stream(), model_.pointers());
      stream().synchronize();
    }
  }

  double evaluate() {
    fill_batch(1000);
    return model_.pass(Mode::Evaluate).loss_sum;
  }

  // Everything that a run can be continued from.
  void take_over(TrainedModel& other) {
    const auto copy = [](TensorView to, TensorView from) {
      ASSERT_EQ(to.bytes(), from.bytes());
      std::memcpy(to.raw(), from.raw(), static_cast<std::size_t>(from.bytes().value()));
    };
    copy(store().masters(store().everything()), other.store().masters(other.store().everything()));
    for (int i = 0; i < store().options().optimizer_states; ++i)
      copy(store().optimizer_state(i, store().everything()),
           other.store().optimizer_state(i, other.store().everything()));
    model_.training() = other.model_.training();
  }

  std::string weights() {
    std::string bits;
    append(store().masters(store().everything()), bits);
    return bits;
  }
  const std::string& gradients() const { return gradients_; }
  const std::vector<double>& losses() const { return losses_; }
  ParameterStore& store() { return model_.run().store; }

 private:
  static inline const OptimizerOptions kRule{.rule = AdamWOptions{}, .weight_decay = 0.1f};

  Stream& stream() { return *model_.run().stream; }

  void fill_batch(std::int64_t step) {
    auto* tokens = model_.batch().view().data<std::int32_t>();
    auto* targets = model_.targets().view().data<std::int32_t>();
    for (std::int64_t i = 0; i < model_.batch().elements(); ++i) {
      tokens[i] = static_cast<std::int32_t>((7 * i + 5 * step) % 32);
      targets[i] = static_cast<std::int32_t>((3 * i + step) % 32);
    }
    auto* positions = model_.positions().view().data<std::int64_t>();
    for (std::int64_t i = 0; i < kSamples; ++i) positions[i] = step * kSamples + i;
  }

  static void append(TensorView view, std::string& to) {
    to.append(static_cast<const char*>(view.raw()), static_cast<std::size_t>(view.bytes().value()));
  }

  ModelRun model_;
  Optimizer optimizer_;
  std::string gradients_;
  std::vector<double> losses_;
};

// ModelRun fills the arena with NaN before each pass, and what a block left in its forward pass has been
// overwritten by the others when its backward pass comes.
TEST(Recompute, ChangesNoBitOfGradientsAndWeights) {
  TrainedModel kept(false), recomputed(true);
  for (auto* model : {&kept, &recomputed}) {
    model->train(0, 4);
    model->evaluate();
    model->train(4, 8);
  }
  EXPECT_EQ(recomputed.losses(), kept.losses());
  EXPECT_TRUE(recomputed.gradients() == kept.gradients());
  EXPECT_TRUE(recomputed.weights() == kept.weights());
  EXPECT_EQ(recomputed.evaluate(), kept.evaluate());
  EXPECT_NE(kept.losses().front(), kept.losses().back());
}

TEST(Recompute, TakesOverWhereTheOtherHasStopped) {
  TrainedModel unbroken(false);
  unbroken.train(0, 6);
  for (const bool first : {false, true}) {
    TrainedModel before(first), after(!first);
    before.train(0, 3);
    after.take_over(before);
    after.train(3, 6);
    EXPECT_TRUE(after.weights() == unbroken.weights()) << "recomputed " << (first ? "first" : "afterwards");
  }
}

Plan plan_of(const ModelSpec& spec, std::int64_t micro_batch) {
  SilentBackend backend;
  Planner planner(backend, DType::BF16);
  make_model(spec, micro_batch).plan(planner);
  return planner.finish();
}

ModelSpec published(const std::string& name, bool recompute) {
  return {.name = name, .context = 1024, .vocab = 50257, .dropout = 0.1f, .recompute_blocks = recompute};
}

class RecomputedGptTest : public ::testing::TestWithParam<const char*> {};

TEST_P(RecomputedGptTest, KeepsParametersAndTheOrderOfTheirGradients) {
  const auto kept = plan_of(published(GetParam(), false), 1);
  const auto recomputed = plan_of(published(GetParam(), true), 1);
  EXPECT_EQ(recomputed.gradient_writes, kept.gradient_writes);
  EXPECT_EQ(recomputed.multiply_adds, kept.multiply_adds);
  ASSERT_EQ(recomputed.parameters.size(), kept.parameters.size());
  for (std::size_t i = 0; i < kept.parameters.size(); ++i)
    EXPECT_EQ(recomputed.parameters[i].name, kept.parameters[i].name);
  EXPECT_TRUE(kept.recomputed.empty());
  EXPECT_EQ(recomputed.recomputed.back(), "h.0");
}

TEST_P(RecomputedGptTest, NeedsLittleMoreThanWhatIsInUseAtOnce) {
  const auto plan = plan_of(published(GetParam(), true), 2);
  const auto train = expect_disjoint_memory(plan, Mode::Train);
  expect_disjoint_memory(plan, Mode::Evaluate);
  EXPECT_LE(plan.arena_bytes.value(), train.value() * 11 / 10);
}

INSTANTIATE_TEST_SUITE_P(Models, RecomputedGptTest, ::testing::Values("gpt2_124m", "gpt2_350m"));

// Its input, of [rows, channels]; what lies within blocks shares the memory of one.
TEST(Recompute, ABlockMoreCostsOneTensor) {
  const auto arena = [](std::int64_t layers) {
    auto spec = gpt(true);
    spec.layers = layers;
    spec.channels = 64;
    spec.context = 64;
    return plan_of(spec, kSamples).arena_bytes;
  };
  const auto one_tensor = bytes_of(ElementCount(kSamples * 64 * 64), DType::BF16);
  EXPECT_EQ(arena(9) - arena(8), one_tensor);
  EXPECT_EQ(arena(12) - arena(8), one_tensor * 4);
}

}  // namespace
}  // namespace tandem

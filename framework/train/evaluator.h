// Loss and accuracy over a whole data set.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/rank_group.h"
#include "data/batch_source.h"
#include "data/sampler.h"
#include "train/batch_slot.h"
#include "train/trainer.h"

namespace tandem {

// Over all ranks: every sample counts exactly once, whatever the number of ranks.
struct EvaluationResult {
  double loss = 0.0;  // mean over targets
  std::int64_t correct = 0;
  std::int64_t targets = 0;
  double accuracy() const {
    return targets > 0 ? static_cast<double>(correct) / static_cast<double>(targets) : 0.0;
  }
};

// Runs the forward pass of the trainer's model over `source`, in the memory of training: never while a
// training step is in flight. All ranks call it together. Everything given to the constructor outlives it.
class Evaluator {
 public:
  Evaluator(const TrainerParts& parts, Context& context, TrainingState* state, RankGroup& group,
            const Sampler& sampler, const BatchSource& source);
  ~Evaluator();

  EvaluationResult run();

 private:
  static constexpr int kSlots = 2;
  struct Slot;

  TrainerParts parts_;
  Context& context_;
  TrainingState* state_;
  RankGroup& group_;
  Sampler sampler_;
  const BatchSource& source_;
  std::unique_ptr<StepBookkeeping> bookkeeping_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace tandem

// The training step, and the loop that keeps the device busy.
//
// Start reading here: Trainer::enqueue_step() in trainer.cpp is data-parallel training on one page.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "data/prefetcher.h"
#include "data/sampler.h"
#include "device/device.h"
#include "layers/context.h"
#include "models/model.h"
#include "ops/backend.h"
#include "optim/learning_rate.h"
#include "optim/optimizer.h"
#include "parallel/gradient_reducer.h"
#include "train/batch_slot.h"
#include "train/step_sampling.h"
#include "train/step_timeline.h"

namespace tandem {

enum class UpdateOrder {
  Streamed,  // wait for a bucket, update it, next: early buckets are updated while late ones travel
  Gated,     // wait for all, measure the norm, then update or skip: needed by clipping and fp16
};

struct TrainerOptions {
  UpdateOrder update_order = UpdateOrder::Streamed;
  float clip_norm = 0.0f;  // 0: no clipping; else Gated
  float initial_loss_scale = 1.0f;
  bool dynamic_loss_scale = false;  // Gated
  LearningRateSpec learning_rate;
  bool measure = true;   // stamp the timeline
  StepSampling samples;  // steps that are reported stamp by stamp, where the timeline is stamped
};

// What the trainer works with; all of it outlives the trainer.
struct TrainerParts {
  Device& device;
  OpBackend& ops;
  Model& model;
  const Plan& plan;
  const Buffer& arena;
  ParameterStore& parameters;
  Optimizer& optimizer;
  Communicator& communicator;
  GradientReducer::Streams streams;
  Stream& copy;
};

struct StepReport {
  std::int64_t step = 0;
  StepResults results;                   // of this rank
  StepStamps stamps;                     // empty where nothing is measured
  double data_wait_ms = 0.0;             // how long the host waited for the batch
  std::optional<RankStepRecord> sample;  // of the steps in TrainerOptions::samples
};
using StepListener = std::function<void(const StepReport&)>;

// Owned and used by one thread. Enqueues up to kSlots - 1 steps ahead of the device; the only wait of the
// loop is on the fence of the step that used a slot before.
class Trainer {
 public:
  static constexpr int kSlots = 4;

  Trainer(const TrainerParts& parts, const Sampler& sampler, Schedule schedule,
          const TrainerOptions& options);
  ~Trainer();

  // Trains steps [first, end), which `batches` delivers; tells of each step, in order, once it has finished,
  // and returns when all have. Rethrows what failed on a stream. Nothing is in flight when it returns or
  // throws.
  void train(Prefetcher& batches, std::int64_t first, std::int64_t end, const StepListener& listener);

  double recording_ms() const;  // host time spent recording steps for replay so far
  Context& context() { return context_; }
  GradientReducer& reducer() { return reducer_; }
  TrainingState* training_state() { return training_state_; }  // on the device

 private:
  struct Slot;

  void load_batch(Slot& slot, std::int64_t step, const PrefetchedBatch& batch);
  void enqueue_step(Slot& slot);
  void forward_backward(Slot& slot, int micro_batch);
  void streamed_update(Slot& slot);
  void gated_update(Slot& slot);
  void collect(Slot& slot, Prefetcher& batches, const StepListener& listener);
  RankStepRecord sample(const Slot& slot) const;
  void report_finished(std::optional<StepReport> next, const StepListener& listener);
  void wait_for_bucket(std::size_t bucket);
  std::vector<std::int64_t> positions_of(std::int64_t step) const;

  TrainerParts parts_;
  Sampler sampler_;
  TrainerOptions options_;
  GradientSink gradients_;
  Context context_;
  GradientReducer reducer_;
  std::unique_ptr<GradientNorm> norm_;
  std::unique_ptr<StepBookkeeping> bookkeeping_;
  std::unique_ptr<Elementwise> elementwise_;
  Buffer norm_workspace_;
  Buffer training_state_memory_;
  TrainingState* training_state_;
  StepTimeline timeline_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::optional<StepReport> finished_;  // complete but for where the next step begins
};

}  // namespace tandem

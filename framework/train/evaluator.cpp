#include "train/evaluator.h"

#include <algorithm>
#include <array>

#include "data/prefetcher.h"
#include "device/drain_on_exit.h"
#include "train/host_batches.h"
#include "train/model_batch.h"

namespace tandem {

struct Evaluator::Slot {
  Slot(Device& device, const BatchFormat& format, Stream& compute)
      : batch(device, format),
        fence(device.make_event(EventUse::Ordering)),
        replay(device.make_replay(compute)) {}

  BatchSlot batch;
  std::unique_ptr<Event> fence;
  std::unique_ptr<Replay> replay;
};

Evaluator::Evaluator(const TrainerParts& parts, Context& context, TrainingState* state, RankGroup& group,
                     const Sampler& sampler, const BatchSource& source)
    : parts_(parts),
      context_(context),
      state_(state),
      group_(group),
      sampler_(sampler),
      source_(source),
      bookkeeping_(parts.ops.make_step_bookkeeping(false)) {
  for (int i = 0; i < kSlots; ++i) {
    slots_.push_back(std::make_unique<Slot>(parts.device, source.format(), parts.streams.compute));
  }
}

Evaluator::~Evaluator() = default;

// Each batch has results of its own, added up here: a slot's are read before the slot is used again.
EvaluationResult Evaluator::run() {
  HostBatches memory(parts_.device, source_.format(), kSlots + 2);
  const auto steps = sampler_.steps_per_epoch();
  Prefetcher batches(source_, memory.views(), {.first = 0, .end = steps});
  auto& compute = parts_.streams.compute;
  const DrainOnExit drain({&parts_.copy, &compute});
  const std::vector<std::int64_t> positions(static_cast<std::size_t>(source_.format().inputs[0]), 0);
  std::array<double, 3> sums{};  // loss, correct, targets

  const auto collect = [&](std::int64_t step) {
    if (step < 0) return;
    auto& slot = *slots_[static_cast<std::size_t>(step % kSlots)];
    slot.fence->synchronize();
    batches.release(static_cast<std::size_t>(step) % memory.views().size());
    const auto& results = slot.batch.host_results();
    sums[0] += results.loss_sum;
    sums[1] += static_cast<double>(results.correct);
    sums[2] += static_cast<double>(results.valid_targets);
  };
  for (std::int64_t step = 0; step < steps; ++step) {
    collect(step - kSlots);
    auto& slot = *slots_[static_cast<std::size_t>(step % kSlots)];
    const StepPointers pointers{slot.batch.inputs(), state_, slot.batch.results()};
    slot.batch.upload(batches.acquire().view, {.step = step}, positions, parts_.copy, compute);
    slot.replay->run([&] {
      bookkeeping_->begin(compute, pointers);
      context_.begin(Mode::Evaluate, pointers);
      bind_batch(parts_.model, slot.batch, 0, 1, context_);
      parts_.model.forward(context_);
      context_.expect_finished();
      slot.batch.download_results(compute);
    });
    compute.record(*slot.fence);
  }
  for (auto step = std::max<std::int64_t>(0, steps - kSlots); step < steps; ++step) collect(step);

  const auto total = group_.sum(sums);
  return {.loss = total[2] > 0 ? total[0] / total[2] : 0.0,
          .correct = static_cast<std::int64_t>(total[1]),
          .targets = static_cast<std::int64_t>(total[2])};
}

}  // namespace tandem

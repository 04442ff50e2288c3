#include "train/trainer.h"

#include <new>
#include <utility>

#include "device/drain_on_exit.h"
#include "device/named_range.h"
#include "train/model_batch.h"

namespace tandem {

struct Trainer::Slot {
  Slot(Device& device, const BatchFormat& format, Stream& compute)
      : batch(device, format),
        fence(device.make_event(EventUse::Ordering)),
        replay(device.make_replay(compute)) {}

  BatchSlot batch;
  std::unique_ptr<Event> fence;  // everything of the step that used the slot last
  std::unique_ptr<Replay> replay;
  std::int64_t step = -1;  // in flight; -1: none
  int index = 0;
  std::size_t prefetched = 0;  // the prefetcher's slot the batch came from
  double data_wait_ms = 0.0;
  std::chrono::steady_clock::time_point fill_begin, fill_end;  // of the batch, ahead of the step
};

Trainer::Trainer(const TrainerParts& parts, const Sampler& sampler, Schedule schedule,
                 const TrainerOptions& options)
    : parts_(parts),
      sampler_(sampler),
      options_(options),
      gradients_(parts.parameters, parts.plan.gradient_uses(),
                 [this](TensorView sum, TensorView gradient) {
                   elementwise_->cast(parts_.streams.compute, sum, gradient);
                 }),
      context_(parts.plan, parts.arena, parts.parameters, gradients_, parts.streams.compute),
      reducer_(parts.device, parts.parameters, parts.communicator, parts.streams, schedule),
      bookkeeping_(parts.ops.make_step_bookkeeping(options.dynamic_loss_scale)),
      elementwise_(parts.ops.make_elementwise()),
      training_state_memory_(parts.device.memory(), ByteCount(sizeof(TrainingState))),
      training_state_(static_cast<TrainingState*>(training_state_memory_.data())),
      timeline_(parts.device,
                {.slots = kSlots,
                 .buckets = reducer_.buckets(),
                 .micro_batches = static_cast<int>(sampler.grid().micro_steps),
                 .recomputed = parts.plan.recomputed.size()},
                options.measure) {
  const bool needs_gate = options.clip_norm > 0.0f || options.dynamic_loss_scale;
  TANDEM_EXPECT(!needs_gate || options.update_order == UpdateOrder::Gated,
                "clipping and loss scaling decide over all gradients at once: the update is gated");
  norm_ = parts.ops.make_gradient_norm(
      {.elements = parts.parameters.layout().total().value(), .clip_norm = options.clip_norm});
  norm_workspace_ = Buffer(parts.device.memory(), norm_->workspace_bytes());
  gradients_.set_listener(reducer_);
  context_.set_observer(timeline_.recompute_observer());

  const auto& input = parts.model.input();
  const auto micro_steps = sampler.grid().micro_steps;
  const auto format = batch_format(input, micro_steps);
  for (int i = 0; i < kSlots; ++i) {
    slots_.push_back(std::make_unique<Slot>(parts.device, format, parts.streams.compute));
    slots_.back()->index = i;
  }

  const Buffer staged(parts.device.pinned_memory(), ByteCount(sizeof(TrainingState)));
  new (staged.data()) TrainingState{.loss_scale = options.initial_loss_scale};
  parts.streams.compute.copy(training_state_, staged.data(), ByteCount(sizeof(TrainingState)));
  parts.streams.compute.synchronize();
}

Trainer::~Trainer() = default;

// One step of data-parallel training. Nothing here waits: every call puts work on a stream and returns.
void Trainer::enqueue_step(Slot& slot) {
  auto& compute = parts_.streams.compute;
  const StepPointers pointers{slot.batch.inputs(), training_state_, slot.batch.results()};

  bookkeeping_->begin(compute, pointers);
  reducer_.begin_step(timeline_.observer());
  for (int micro_batch = 0; micro_batch < sampler_.grid().micro_steps; ++micro_batch) {
    forward_backward(slot, micro_batch);  // in the last one, buckets leave while the backward pass goes on
  }
  reducer_.end_backward();
  const NamedRange update("update");
  if (options_.update_order == UpdateOrder::Streamed) {
    streamed_update(slot);
  } else {
    gated_update(slot);
  }
  bookkeeping_->end(compute, pointers);
  slot.batch.download_results(compute);
}

void Trainer::forward_backward(Slot& slot, int micro_batch) {
  auto& compute = parts_.streams.compute;
  const auto micro_batches = static_cast<int>(sampler_.grid().micro_steps);
  const StepPointers pointers{slot.batch.inputs(), training_state_, slot.batch.results()};
  gradients_.begin_micro_batch(micro_batch, micro_batches);
  context_.begin(Mode::Train, pointers);
  bind_batch(parts_.model, slot.batch, micro_batch, micro_batches, context_);

  {
    const NamedRange range("forward");
    parts_.model.forward(context_);
    timeline_.forward_end(micro_batch, compute);
  }
  {
    const NamedRange range("backward");
    parts_.model.backward(context_);
    timeline_.backward_end(micro_batch, compute);
  }
  context_.expect_finished();
}

void Trainer::wait_for_bucket(std::size_t bucket) {
  const NamedRange range("wait", static_cast<std::int64_t>(bucket));
  timeline_.wait_begin(bucket, parts_.streams.compute);
  reducer_.wait_for(bucket);
  timeline_.wait_end(bucket, parts_.streams.compute);
}

void Trainer::streamed_update(Slot& slot) {
  const StepPointers pointers{slot.batch.inputs(), training_state_, slot.batch.results()};
  for (std::size_t bucket = 0; bucket < reducer_.buckets(); ++bucket) {
    wait_for_bucket(bucket);
    const NamedRange range("optimizer", static_cast<std::int64_t>(bucket));
    parts_.optimizer.step(parts_.parameters.layout().buckets()[bucket], pointers, parts_.streams.compute);
  }
}

void Trainer::gated_update(Slot& slot) {
  const StepPointers pointers{slot.batch.inputs(), training_state_, slot.batch.results()};
  for (std::size_t bucket = 0; bucket < reducer_.buckets(); ++bucket) wait_for_bucket(bucket);
  const NamedRange range("optimizer");
  const auto all = parts_.parameters.everything();
  const auto workspace = norm_workspace_.view(ByteCount(0), DType::U8, {norm_workspace_.bytes().value()});
  norm_->measure(parts_.streams.compute, parts_.parameters.gradients(all), pointers, workspace);
  parts_.optimizer.step(all, pointers, parts_.streams.compute);
}

void Trainer::load_batch(Slot& slot, std::int64_t step, const PrefetchedBatch& batch) {
  const auto& grid = sampler_.grid();
  const auto targets = parts_.model.input().targets * grid.micro_steps;
  TANDEM_EXPECT(batch.valid_targets == targets, "a training batch has {} of {} targets", batch.valid_targets,
                targets);
  slot.step = step;
  slot.prefetched = batch.slot;
  slot.data_wait_ms = batch.data_wait_ms;
  slot.fill_begin = batch.fill_begin;
  slot.fill_end = batch.fill_end;
  const StepInputs inputs{.step = step,
                          .learning_rate = static_cast<float>(learning_rate_at(options_.learning_rate, step)),
                          .valid_targets = static_cast<float>(targets * grid.ranks)};
  slot.batch.upload(batch.view, inputs, positions_of(step), parts_.copy, parts_.streams.compute);
}

void Trainer::train(Prefetcher& batches, std::int64_t first, std::int64_t end, const StepListener& listener) {
  auto& compute = parts_.streams.compute;
  const DrainOnExit drain({&parts_.copy, &compute, &parts_.streams.communication});
  timeline_.begin_steps(compute);
  for (auto step = first; step < end; ++step) {
    auto& slot = *slots_[static_cast<std::size_t>(step % kSlots)];
    collect(slot, batches, listener);

    const NamedRange range("step", step);
    timeline_.step_begin(step, slot.index, compute);
    {
      const NamedRange wait("data wait");
      load_batch(slot, step, batches.acquire());
      timeline_.data_ready(compute);
    }
    slot.replay->run([&] { enqueue_step(slot); });
    timeline_.step_end(compute);
    compute.record(*slot.fence);
  }
  for (auto step = end; step < end + kSlots; ++step) {
    collect(*slots_[static_cast<std::size_t>(step % kSlots)], batches, listener);
  }
  report_finished(std::nullopt, listener);
}

void Trainer::collect(Slot& slot, Prefetcher& batches, const StepListener& listener) {
  if (slot.step < 0) return;
  slot.fence->synchronize();
  parts_.streams.communication.throw_if_failed();
  parts_.communicator.throw_if_failed();
  batches.release(slot.prefetched);
  StepReport report{.step = slot.step,
                    .results = slot.batch.host_results(),
                    .stamps = timeline_.read(slot.step, slot.index),
                    .data_wait_ms = slot.data_wait_ms};
  if (options_.measure && options_.samples.includes(slot.step)) report.sample = sample(slot);
  report_finished(std::move(report), listener);
  slot.step = -1;
}

RankStepRecord Trainer::sample(const Slot& slot) const {
  auto sample = timeline_.sample(slot.step, slot.index);
  sample.rank = parts_.communicator.rank().value;
  sample.load_begin_ms = StepTimeline::host_ms(slot.fill_begin) - sample.begin_ms;
  sample.load_end_ms = StepTimeline::host_ms(slot.fill_end) - sample.begin_ms;
  return sample;
}

double Trainer::recording_ms() const {
  double ms = 0.0;
  for (const auto& slot : slots_) ms += slot->replay->recording_ms();
  return ms;
}

// A step ends where the next begins, so it is told of when that one has finished too; the last of a run of
// steps ends with its own work.
void Trainer::report_finished(std::optional<StepReport> next, const StepListener& listener) {
  if (finished_) {
    finished_->stamps.next_begin_ms =
        next ? timeline_.begin_to_next_begin_ms(finished_->step) : finished_->stamps.end_ms;
    if (finished_->sample) finished_->sample->next_begin_ms = finished_->stamps.next_begin_ms.value();
    listener(*finished_);
  }
  finished_ = std::move(next);
}

// Where the samples of this rank's step stand in the run: the counterpart of the order in data/sampler.h.
std::vector<std::int64_t> Trainer::positions_of(std::int64_t step) const {
  const auto& grid = sampler_.grid();
  std::vector<std::int64_t> positions;
  for (std::int64_t micro_step = 0; micro_step < grid.micro_steps; ++micro_step) {
    const auto first = step * grid.global_batch() +
                       (micro_step * grid.ranks + parts_.communicator.rank().value) * grid.micro_batch;
    for (std::int64_t row = 0; row < grid.micro_batch; ++row) positions.push_back(first + row);
  }
  return positions;
}

}  // namespace tandem

#include "train/control_run.h"

#include "core/error.h"
#include "train/gather_numbers.h"
#include "train/host_batches.h"

namespace tandem {
namespace {

// A device that records steps does so within the first runs of each slot.
constexpr int kWarmupSteps = 3 * Trainer::kSlots;

// A communicator that was told to say nothing: the ranks are there, the calls do nothing.
class MutedCommunicator final : public Communicator {
 public:
  explicit MutedCommunicator(const Communicator& of) : of_(of) {}

  Rank rank() const override { return of_.rank(); }
  int world_size() const override { return of_.world_size(); }
  void all_reduce_sum(TensorView, Stream&) override {}
  void reduce_scatter_sum(TensorView, Stream&) override {}
  void all_gather(TensorView, Stream&) override {}
  void broadcast(TensorView, Rank, Stream&) override {}
  void throw_if_failed() override {}
  std::string description() const override { return of_.description() + ", muted"; }

 private:
  const Communicator& of_;
};

TrainerParts with_communicator(const TrainerParts& parts, Communicator& communicator) {
  return {.device = parts.device,
          .ops = parts.ops,
          .model = parts.model,
          .plan = parts.plan,
          .arena = parts.arena,
          .parameters = parts.parameters,
          .optimizer = parts.optimizer,
          .communicator = communicator,
          .streams = parts.streams,
          .copy = parts.copy};
}

struct SegmentSamples {
  std::vector<double> step_ms;
  std::vector<double> exposed_ms;
};

class ControlRun {
 public:
  ControlRun(const ControlSubject& subject, const ControlOptions& control)
      : subject_(subject),
        control_(control),
        memory_(subject.parts.device, subject.batches.format(),
                static_cast<std::size_t>(Trainer::kSlots) + subject.prefetch),
        batches_(subject.batches, memory_.views(),
                 {.first = 0, .end = 2 * (kWarmupSteps + std::int64_t{control.pairs} * control.steps)}),
        muted_(subject.parts.communicator),
        on_(subject.parts, subject.sampler, subject.schedule, subject.options),
        off_(with_communicator(subject.parts, muted_), subject.sampler, subject.schedule, subject.options) {}

  ControlRecord run() {
    ControlRecord record{.warmup_steps = kWarmupSteps};
    for (auto* trainer : {&on_, &off_}) train(*trainer, kWarmupSteps);
    std::vector<SegmentSamples> mine;
    for (int pair = 0; pair < control_.pairs; ++pair) {
      for (auto* trainer : {&on_, &off_}) mine.push_back(train(*trainer, control_.steps));
    }
    for (std::size_t i = 0; i < mine.size(); ++i)
      record.segments.push_back({.all_reduce = i % 2 == 0,
                                 .step_ms = gather_numbers(mine[i].step_ms, subject_.group),
                                 .exposed_ms = gather_numbers(mine[i].exposed_ms, subject_.group)});
    return record;
  }

 private:
  SegmentSamples train(Trainer& trainer, int steps) {
    SegmentSamples samples;
    const auto note = [&](const StepReport& report) {
      const auto timing = measure_step(report.stamps);
      TANDEM_EXPECT(timing.step_ms && timing.exposed_ms, "step {} of the control run was not stamped",
                    report.step);
      samples.step_ms.push_back(*timing.step_ms);
      samples.exposed_ms.push_back(*timing.exposed_ms);
    };
    for (int i = 0; i < steps; ++i, ++step_) {
      subject_.group.barrier();
      trainer.train(batches_, step_, step_ + 1, note);
    }
    return samples;
  }

  const ControlSubject& subject_;
  const ControlOptions control_;
  HostBatches memory_;
  Prefetcher batches_;
  MutedCommunicator muted_;
  Trainer on_;
  Trainer off_;
  std::int64_t step_ = 0;
};

}  // namespace

ControlRecord measure_control(const ControlSubject& subject, const ControlOptions& control) {
  TANDEM_EXPECT(control.pairs > 0 && control.steps > 0 && subject.options.measure,
                "a control run of {} pairs of {} steps measures nothing", control.pairs, control.steps);
  return ControlRun(subject, control).run();
}

}  // namespace tandem

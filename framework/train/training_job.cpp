#include "train/training_job.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "train/gather_numbers.h"
#include "train/host_batches.h"
#include "train/model_batch.h"
#include "train/replicas.h"
#include "train/standalone_bandwidth.h"
#include "train/startup_check.h"
#include "train/training_snapshot.h"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

// A reading of NVML takes about a millisecond of a thread that does nothing else.
constexpr std::chrono::milliseconds kPowerInterval{50};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double max_over_ranks(double value, RankGroup& group) {
  double largest = value;
  for (const auto& text : group.all_gather(fmt::format("{}", value)))
    largest = std::max(largest, std::stod(text));
  return largest;
}

[[noreturn]] void fail_diverged(double loss, std::int64_t step, Rank rank) {
  throw InputError({.what = "training diverged",
                    .where = fmt::format("step {}, rank {}", step, rank.value),
                    .expected = "a loss that is a finite number",
                    .found = std::isnan(loss) ? "not a number" : "infinity",
                    .advice = "try a smaller optim.lr, a longer warm-up, or optim.clip_norm"});
}

}  // namespace

TrainingJob::TrainingJob(const JobParts& parts, const JobOptions& options, const std::string& facts)
    : parts_(parts),
      options_(options),
      compute_(parts.device.make_stream(StreamRole::Compute)),
      communication_(parts.device.make_stream(StreamRole::Communication)),
      copy_(parts.device.make_stream(StreamRole::Copy)),
      plan_(make_plan()),
      store_(make_store()),
      arena_(parts.device.memory(), plan_.arena_bytes),
      optimizer_(parts.ops, store_, options.optimizer),
      trainer_(trainer_parts(), parts.sampler, options.schedule, options.trainer),
      recorder_(options.log_every, options.trainer.measure) {
  finish_phase("memory");
  expect_agreement(facts + describe_layout(store_.layout(), options.reduce), parts.group);
  if (parts.evaluation != nullptr) {
    evaluator_ = std::make_unique<Evaluator>(trainer_parts(), trainer_.context(), trainer_.training_state(),
                                             parts.group, *parts.evaluation_sampler, *parts.evaluation);
  }
  finish_phase("agreement of the ranks");
  store_.initialize(options.seed, *compute_);
  const auto elementwise = parts.ops.make_elementwise();
  broadcast_parameters(store_, parts.communicator, *elementwise, *compute_);
  finish_phase("first parameters and their broadcast");
}

TrainingJob::~TrainingJob() = default;

void TrainingJob::finish_phase(const std::string& phase) {
  if (parts_.startup != nullptr) parts_.startup->finish(phase);
}

Plan TrainingJob::make_plan() {
  Planner planner(parts_.ops, options_.compute);
  parts_.model.plan(planner);
  auto plan = planner.finish();
  finish_phase("planning and autotuning");
  return plan;
}

ParameterStore TrainingJob::make_store() const {
  const auto order = plan_.ready_order();
  std::vector<ByteCount> bytes;
  for (const auto id : order) {
    bytes.push_back(
        bytes_of(plan_.parameters[static_cast<std::size_t>(id.index)].stored.elements(), options_.reduce));
  }
  const auto starts = plan_buckets(bytes, options_.grouping, options_.buckets);
  ParameterLayout layout(plan_.parameters, order, starts);
  const ParameterStoreOptions store{.working = options_.compute,
                                    .gradient = options_.reduce,
                                    .optimizer_states = optimizer_states(options_.optimizer),
                                    .micro_gradient_sums = parts_.sampler.grid().micro_steps > 1,
                                    .gradient_allocator = parts_.gradient_memory};
  if (parts_.before_memory) parts_.before_memory(need(parameter_memory(layout, plan_.buffers, store)));
  return ParameterStore(parts_.device, std::move(layout), plan_.buffers, store);
}

MemoryNeed TrainingJob::need(const ParameterMemory& parameters) const {
  const auto& grid = parts_.sampler.grid();
  const auto batch = batch_format(parts_.model.input(), grid.micro_steps);
  const int trainers = options_.control_run ? 3 : 1;  // a control run has two of its own
  return with_plan({.parameters = parameters,
                    .batches = (batch.input_bytes() + batch.target_bytes()) * Trainer::kSlots * trainers,
                    .micro_batch = grid.micro_batch},
                   plan_);
}

TrainerParts TrainingJob::trainer_parts() {
  return {.device = parts_.device,
          .ops = parts_.ops,
          .model = parts_.model,
          .plan = plan_,
          .arena = arena_,
          .parameters = store_,
          .optimizer = optimizer_,
          .communicator = parts_.communicator,
          .streams = {*compute_, *communication_},
          .copy = *copy_};
}

void TrainingJob::describe(RunRecord& record) {
  const auto& layout = store_.layout();
  record.model.parameters = layout.parameters().value();
  record.model.padding = (layout.total() - layout.parameters()).value();
  record.model.bytes = store_.gradients(store_.everything()).bytes().value();
  if (plan_.multiply_adds > 0) {
    constexpr double kFlopsPerMultiplyAdd = 2.0;
    record.model.flops_per_item = kFlopsPerMultiplyAdd * static_cast<double>(plan_.multiply_adds) /
                                  static_cast<double>(parts_.model.input().targets);
  }
  record.recomputed = plan_.recomputed;
  for (std::size_t index = 0; index < layout.buckets().size(); ++index) {
    record.buckets.push_back({.index = static_cast<int>(index),
                              .bytes = store_.gradients(layout.buckets()[index]).bytes().value()});
  }
  for (const auto id : layout.ready_order()) {
    auto& bucket = record.buckets[layout.bucket_of(id)];
    if (bucket.parameters++ == 0) bucket.first_parameter = layout.spec(id).name;
    bucket.last_parameter = layout.spec(id).name;
  }
  record.link.bus_gb_per_s_standalone =
      measure_bus_gb_per_s(store_, parts_.communicator, parts_.device, *communication_);
  finish_phase("link measurement");
}

void TrainingJob::run(RunRecord& record, const std::function<void(const JobProgress&)>& progress,
                      const std::function<void(const EpochRecord&)>& finished) {
  const auto slots = static_cast<std::size_t>(Trainer::kSlots) + options_.prefetch;
  const HostBatches memory(parts_.device, parts_.train.format(), slots);
  Prefetcher batches(parts_.train, memory.views(), {.first = 0, .end = options_.total_steps});
  if (parts_.power != nullptr) meter_ = std::make_unique<EnergyMeter>(*parts_.power, kPowerInterval);
  const auto per_epoch = parts_.sampler.steps_per_epoch();
  const auto epochs = (options_.total_steps + per_epoch - 1) / per_epoch;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    run_epoch(epoch, batches, record, progress);
    if (finished) finished(record.epochs.back());
  }
  gather_energy(record);
  meter_.reset();
  record.parameter_hash =
      fmt::format("{:016x}", expect_equal_replicas(store_, parts_.device, parts_.group, *compute_));
  recorder_.gather(parts_.group, record);
  record.timelines = timelines_.gather(parts_.group);
  const auto recording_ms = max_over_ranks(trainer_.recording_ms(), parts_.group);
  if (recording_ms > 0.0) record.graph_capture_ms = recording_ms;
}

void TrainingJob::measure_control(RunRecord& record, const ControlOptions& control) {
  if (!trainer_.reducer().communicates()) return;
  auto trainer_options = options_.trainer;
  trainer_options.samples = {};
  const TrainingSnapshot snapshot(store_, parts_.device, *compute_);
  const ControlSubject subject{.parts = trainer_parts(),
                               .sampler = parts_.sampler,
                               .batches = parts_.train,
                               .group = parts_.group,
                               .schedule = options_.schedule,
                               .options = trainer_options,
                               .prefetch = options_.prefetch};
  record.control = tandem::measure_control(subject, control);
  snapshot.put_back(*parts_.ops.make_elementwise());
}

void TrainingJob::run_epoch(std::int64_t epoch, Prefetcher& batches, RunRecord& record,
                            const std::function<void(const JobProgress&)>& progress) {
  const auto per_epoch = parts_.sampler.steps_per_epoch();
  const auto first = epoch * per_epoch;
  const auto end = std::min(first + per_epoch, options_.total_steps);
  EpochRecord result{.epoch = static_cast<int>(epoch), .first_step = first, .steps = end - first};
  JobProgress now{.epoch = epoch, .epoch_steps = end - first};

  parts_.group.barrier();
  const auto joules_before = joules();
  const auto begin = Clock::now();
  train_steps(first, end, batches, [&](const StepReport& report) {
    const auto timing = measure_step(report.stamps);
    recorder_.add(report, timing);
    timelines_.add(report);
    const auto loss = report.results.loss_sum / static_cast<double>(report.results.valid_targets);
    if (!std::isfinite(loss)) fail_diverged(loss, report.step, parts_.group.rank());
    now.step = report.step - first + 1;
    now.total_step = report.step + 1;
    now.loss = loss;
    now.learning_rate = learning_rate_at(options_.trainer.learning_rate, report.step);
    now.trained_s = trained_s_ + seconds_since(begin);
    now.exposed_share = timing.step_ms && timing.exposed_ms && *timing.step_ms > 0
                            ? std::optional(*timing.exposed_ms / *timing.step_ms)
                            : std::nullopt;
    now.timing = timing;
    progress(now);
  });
  trained_s_ += seconds_since(begin);
  const auto joules_trained = joules();
  const bool last = end == options_.total_steps;
  if (evaluator_ && options_.eval_every > 0 && (last || (epoch + 1) % options_.eval_every == 0)) {
    evaluate(result, record);
  }
  parts_.group.barrier();
  result.wall_s = max_over_ranks(seconds_since(begin), parts_.group);
  record_energy(joules_before, joules_trained, result);
  result.items = result.steps * parts_.sampler.grid().global_batch() * parts_.model.input().targets /
                 parts_.model.input().samples();
  result.train_loss = recorder_.mean_loss(first, end, parts_.group);
  record.epochs.push_back(result);
}

std::optional<double> TrainingJob::joules() const {
  return meter_ ? meter_->joules() : std::nullopt;
}

// An epoch's energy is known if every rank knows its own.
void TrainingJob::record_energy(std::optional<double> begin, std::optional<double> trained,
                                EpochRecord& epoch) {
  const auto end = joules();
  const bool known = begin && trained && end;
  if (known) rank_joules_ += *end - *begin;
  const std::array mine{known ? 1.0 : 0.0, known ? *trained - *begin : 0.0, known ? *end - *begin : 0.0};
  const auto total = parts_.group.sum(mine);
  if (total[0] != parts_.group.world_size()) return;
  epoch.training_energy_j = total[1];
  epoch.energy_j = total[2];
}

void TrainingJob::gather_energy(RunRecord& record) const {
  const auto by_rank = gather_numbers({rank_joules_}, parts_.group);
  const bool known =
      !record.epochs.empty() &&
      std::ranges::all_of(record.epochs, [](const EpochRecord& epoch) { return epoch.energy_j.has_value(); });
  if (!known) return;
  record.energy = EnergyRecord{.source = parts_.power->description(),
                               .interval_ms = static_cast<double>(kPowerInterval.count())};
  for (const auto& joules : by_rank) record.energy->rank_j.push_back(joules.front());
}

// In stretches between checks of the replicas; without checks, in one.
void TrainingJob::train_steps(std::int64_t first, std::int64_t end, Prefetcher& batches,
                              const StepListener& listener) {
  const std::int64_t stretch =
      options_.check_replicas_every > 0 ? options_.check_replicas_every : end - first;
  for (auto step = first; step < end; step += stretch) {
    trainer_.train(batches, step, std::min(end, step + stretch), listener);
    if (options_.check_replicas_every > 0)
      expect_equal_replicas(store_, parts_.device, parts_.group, *compute_);
  }
}

void TrainingJob::evaluate(EpochRecord& epoch, RunRecord& record) {
  const auto begin = Clock::now();
  average_buffers(store_, parts_.device, parts_.group, *compute_);
  const auto result = evaluator_->run();
  epoch.eval_loss = result.loss;
  epoch.eval_accuracy = result.accuracy();
  epoch.eval_s = max_over_ranks(seconds_since(begin), parts_.group);
  record.results =
      ResultsRecord{.correct = result.correct, .total = result.targets, .eval_loss = result.loss};
}

}  // namespace tandem

#include "trainer/job_setup.h"

#include <algorithm>
#include <cmath>

namespace tandem {
namespace {

Decay decay_of(OptimConfig::Schedule schedule) {
  switch (schedule) {
    case OptimConfig::Schedule::Constant:
      return Decay::Constant;
    case OptimConfig::Schedule::Step:
      return Decay::Step;
    case OptimConfig::Schedule::Cosine:
      return Decay::Cosine;
    case OptimConfig::Schedule::Linear:
      return Decay::Linear;
  }
  return Decay::Constant;
}

LearningRateSpec learning_rate(const OptimConfig& optim, std::int64_t global_batch,
                               std::int64_t steps_per_epoch, std::int64_t total_steps) {
  LearningRateSpec spec{.base = effective_learning_rate(optim, global_batch).value,
                        .decay = decay_of(optim.schedule),
                        .warmup_steps = optim.warmup_steps,
                        .total_steps = total_steps,
                        .final_fraction = optim.final_lr_fraction,
                        .gamma = optim.step_gamma};
  if (optim.warmup_epochs > 0) {
    spec.warmup_steps = std::llround(optim.warmup_epochs * static_cast<double>(steps_per_epoch));
  }
  for (const auto epoch : optim.step_epochs) spec.milestones.push_back(epoch * steps_per_epoch);
  return spec;
}

OptimizerOptions optimizer_options(const OptimConfig& optim) {
  OptimizerOptions options{.weight_decay = static_cast<float>(optim.weight_decay),
                           .decay_norm_and_bias = optim.decay_norm_and_bias};
  if (optim.name == OptimConfig::Name::AdamW) {
    options.rule = AdamWOptions{.beta1 = static_cast<float>(optim.beta1),
                                .beta2 = static_cast<float>(optim.beta2),
                                .epsilon = static_cast<float>(optim.eps)};
  } else {
    options.rule = SgdOptions{.momentum = static_cast<float>(optim.momentum), .nesterov = optim.nesterov};
  }
  return options;
}

DType compute_dtype(PrecisionConfig::Compute compute) {
  switch (compute) {
    case PrecisionConfig::Compute::Fp32:
    case PrecisionConfig::Compute::Tf32:
      return DType::F32;
    case PrecisionConfig::Compute::Bf16:
      return DType::BF16;
    case PrecisionConfig::Compute::Fp16:
      return DType::F16;
  }
  return DType::F32;
}

DType reduce_dtype(PrecisionConfig::Reduce reduce) {
  switch (reduce) {
    case PrecisionConfig::Reduce::Fp32:
      return DType::F32;
    case PrecisionConfig::Reduce::Bf16:
      return DType::BF16;
    case PrecisionConfig::Reduce::Fp16:
      return DType::F16;
  }
  return DType::F32;
}

// fp16 gradients below 6e-8 vanish: the loss is scaled up, by a factor that follows what overflows.
constexpr float kFirstFp16LossScale = 65536.0f;

TrainerOptions trainer_options(const RunConfig& config, const LearningRateSpec& rate) {
  const bool fp16 = config.precision.compute == PrecisionConfig::Compute::Fp16 ||
                    config.precision.reduce == PrecisionConfig::Reduce::Fp16;
  const bool gated = config.optim.clip_norm > 0 || fp16;
  return {.update_order = gated ? UpdateOrder::Gated : UpdateOrder::Streamed,
          .clip_norm = static_cast<float>(config.optim.clip_norm),
          .initial_loss_scale = fp16 ? kFirstFp16LossScale : 1.0f,
          .dynamic_loss_scale = fp16,
          .learning_rate = rate,
          .measure = config.report.metrics != ReportConfig::Metrics::Off};
}

// A trace shows steps side by side, a summary a few that stand for the run.
StepSampling step_samples(const ReportConfig& report, std::int64_t warmup_steps, std::int64_t total_steps) {
  constexpr std::int64_t kSummarySteps = 3;
  if (report.metrics == ReportConfig::Metrics::Trace)
    return {.first = warmup_steps < total_steps ? warmup_steps : 0, .count = report.trace_steps};
  return spread_over(warmup_steps, total_steps, kSummarySteps);
}

// At least a byte: a bucket of 0 bytes would mean something else.
ByteCount mebibytes(double value) {
  return ByteCount(std::max(1LL, std::llround(value * 1048576.0)));
}

}  // namespace

std::optional<ControlOptions> control_options(const MeasureConfig& config) {
  if (config.contention == MeasureConfig::Contention::Off) return std::nullopt;
  return ControlOptions{.pairs = config.control_pairs, .steps = config.control_steps};
}

JobOptions job_options(const RunConfig& config, const BatchSizes& sizes, std::int64_t steps_per_epoch) {
  const auto& train = config.train;
  const auto& comm = config.comm;
  auto total_steps = train.epochs * steps_per_epoch;
  if (train.max_steps > 0) total_steps = std::min(total_steps, train.max_steps);
  JobOptions options{
      .seed = static_cast<std::uint64_t>(config.seed),
      .total_steps = total_steps,
      .eval_every = train.eval_every,
      .log_every = train.log_every,
      .warmup_steps = static_cast<int>(std::min<std::int64_t>(train.warmup_steps_excluded, total_steps)),
      .check_replicas_every = comm.check_replicas_every,
      .prefetch = static_cast<std::size_t>(config.data.prefetch),
      .control_run = control_options(config.measure).has_value(),
      .compute = compute_dtype(config.precision.compute),
      .reduce = reduce_dtype(config.precision.reduce),
      .grouping = comm.grouping == CommConfig::Grouping::PerTensor ? Grouping::PerTensor : Grouping::Bucketed,
      .buckets = {.first = mebibytes(comm.first_bucket_mb),
                  .each = mebibytes(comm.bucket_mb),
                  .last = mebibytes(comm.last_bucket_mb)},
      .schedule = comm.schedule == CommConfig::Schedule::After ? Schedule::After : Schedule::Overlapped,
      .optimizer = optimizer_options(config.optim),
      .trainer = trainer_options(
          config, learning_rate(config.optim, sizes.global_batch, steps_per_epoch, total_steps))};
  options.trainer.samples = step_samples(config.report, options.warmup_steps, total_steps);
  return options;
}

CommOptions comm_options(const CommConfig& config) {
  CommOptions options{
      .backend = config.backend == CommConfig::Backend::Ring ? CommBackend::Ring : CommBackend::Mpi,
      .watchdog = {.timeout = std::chrono::milliseconds(std::llround(config.timeout_s * 1e3))}};
  if (config.pace_gbit > 0) {
    options.pace = LinkModel{.latency_us = config.pace_latency_us, .bus_gbit_per_s = config.pace_gbit};
  }
  return options;
}

}  // namespace tandem

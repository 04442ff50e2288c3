#include <fmt/format.h>

#include "core/error.h"
#include "run_config/run_config.h"

namespace tandem {

namespace {

// A rank's batch of one step is in memory as a whole, and what counts samples has room for this much.
constexpr std::int64_t kMostPasses = 1 << 20;

}  // namespace

BatchSizes resolve_batch(const TrainConfig& train, int world_size) {
  TANDEM_EXPECT(world_size >= 1, "a run has at least one rank, not {}", world_size);
  TANDEM_EXPECT(train.micro_batch >= 1, "train.micro_batch is {}", train.micro_batch);
  const std::int64_t per_pass = std::int64_t{train.micro_batch} * world_size;  // of all ranks together
  if (train.global_batch == 0) {
    const std::int64_t accumulation = train.accumulation == 0 ? 1 : train.accumulation;
    return {per_pass * accumulation, train.micro_batch, accumulation};
  }
  const std::int64_t passes = train.global_batch / per_pass;
  const bool divides = train.global_batch % per_pass == 0;
  if (passes > kMostPasses) {
    throw InputError(
        {.what = "the global batch is too large",
         .where = "train.global_batch",
         .expected = fmt::format("at most {} = {} × {} ranks × {} forward passes", per_pass * kMostPasses,
                                 train.micro_batch, world_size, kMostPasses),
         .found = fmt::format("{}", train.global_batch),
         .advice = "lower train.global_batch, or raise train.micro_batch"});
  }
  if (divides && (train.accumulation == 0 || train.accumulation == passes)) {
    return {train.global_batch, train.micro_batch, passes};
  }

  const std::int64_t below = passes * per_pass;
  const std::string nearest =
      below == 0 ? fmt::format("{}", per_pass) : fmt::format("{} or {}", below, below + per_pass);
  const bool derived = train.accumulation == 0;
  throw InputError(
      {.what = "the batch sizes do not agree",
       .where = "train.global_batch",
       .expected = "global_batch = micro_batch × ranks × accumulation",
       .found = derived
                    ? fmt::format("{} is no multiple of {} × {} ranks = {}", train.global_batch,
                                  train.micro_batch, world_size, per_pass)
                    : fmt::format("{} is not {} × {} ranks × {} = {}", train.global_batch, train.micro_batch,
                                  world_size, train.accumulation, per_pass * train.accumulation),
       .advice = derived   ? fmt::format("set train.global_batch to {}", nearest)
                 : divides ? fmt::format("delete train.accumulation, or set it to {}", passes)
                           : fmt::format("set train.global_batch to {}", per_pass * train.accumulation)});
}

EffectiveLearningRate effective_learning_rate(const OptimConfig& optim, std::int64_t global_batch) {
  TANDEM_EXPECT(global_batch >= 1, "the global batch is {}", global_batch);
  if (optim.lr_reference_batch == 0) {
    return {optim.lr, fmt::format("optim.lr {}, not scaled with the batch", optim.lr)};
  }
  // Goyal et al., "Accurate, large minibatch SGD", 2017, section 2.1: k times the batch, k times the rate.
  const double value =
      optim.lr * static_cast<double>(global_batch) / static_cast<double>(optim.lr_reference_batch);
  return {value, fmt::format("optim.lr {} × global batch {} / reference batch {} = {}", optim.lr,
                             global_batch, optim.lr_reference_batch, value)};
}

}  // namespace tandem

#include "data/sampler.h"

#include <fmt/format.h>

#include "core/error.h"
#include "data/permutation.h"

namespace tandem {
namespace {

constexpr std::int64_t kLargestExtent =
    1 << 20;  // per factor of the grid; the product of three stays below 2^63

void check(std::int64_t samples, const BatchGrid& grid) {
  TANDEM_EXPECT(samples > 0, "a data set of {} samples", samples);
  for (const std::int64_t extent : {grid.micro_batch, grid.ranks, grid.micro_steps}) {
    TANDEM_EXPECT(extent > 0 && extent <= kLargestExtent, "a batch of {} x {} ranks x {} micro-steps",
                  grid.micro_batch, grid.ranks, grid.micro_steps);
  }
}

}  // namespace

Sampler Sampler::training(std::int64_t samples, const BatchGrid& grid, std::uint64_t seed) {
  check(samples, grid);
  if (samples < grid.global_batch()) {
    throw InputError(
        {.what = "The data set is smaller than one global batch.",
         .where = "data set, or its limit",
         .expected = fmt::format("at least {} samples: micro-batch {} x {} ranks x {} micro-steps",
                                 grid.global_batch(), grid.micro_batch, grid.ranks, grid.micro_steps),
         .found = fmt::format("{} samples", samples),
         .advice = "Use a smaller batch, fewer ranks, or more data."});
  }
  return Sampler(Use::Training, samples, grid, seed);
}

Sampler Sampler::evaluation(std::int64_t samples, const BatchGrid& grid) {
  check(samples, grid);
  return Sampler(Use::Evaluation, samples, grid, 0);
}

Sampler::Sampler(Use use, std::int64_t samples, const BatchGrid& grid, std::uint64_t seed)
    : use_(use), samples_(samples), grid_(grid), seed_(seed) {
  const std::int64_t batch = grid.global_batch();
  steps_per_epoch_ = use == Use::Training ? samples / batch : (samples + batch - 1) / batch;
}

void Sampler::indices(std::int64_t step, std::int64_t rank, std::span<std::int64_t> rows) const {
  TANDEM_EXPECT(step >= 0 && rank >= 0 && rank < grid_.ranks, "step {} of rank {} of {}", step, rank,
                grid_.ranks);
  TANDEM_EXPECT(std::ssize(rows) == grid_.rank_batch(), "a rank's batch has {} samples, got room for {}",
                grid_.rank_batch(), rows.size());
  const Permutation order(samples_, seed_, epoch_of(step));
  const std::int64_t first = step % steps_per_epoch_ * grid_.global_batch();
  for (std::int64_t row = 0; row < std::ssize(rows); ++row) {
    const std::int64_t micro_step = row / grid_.micro_batch;
    const std::int64_t position =
        first + (micro_step * grid_.ranks + rank) * grid_.micro_batch + row % grid_.micro_batch;
    rows[row] = use_ == Use::Training ? order(position) : position < samples_ ? position : kNoSample;
  }
}

SamplePosition Sampler::position_of(std::int64_t step) const {
  return {.epoch = epoch_of(step), .samples = step % steps_per_epoch_ * grid_.global_batch()};
}

std::int64_t Sampler::step_at(const SamplePosition& position) const {
  const std::int64_t batch = grid_.global_batch();
  if (position.epoch < 0 || position.samples < 0 || position.samples >= samples_ ||
      position.samples % batch != 0) {
    throw InputError(
        {.what = "The run cannot go on from this position in the data.",
         .where = fmt::format("epoch {}, sample {}", position.epoch, position.samples),
         .expected = fmt::format("a multiple of the global batch of {} below {} samples", batch, samples_),
         .found = fmt::format("{} samples used", position.samples),
         .advice = "Resume with the data set and the global batch of the run that wrote the checkpoint; "
                   "the number of ranks may differ."});
  }
  return position.epoch * steps_per_epoch_ + position.samples / batch;
}

std::int64_t first_samples(std::int64_t available, std::int64_t limit) {
  if (limit < 0 || limit > available) {
    throw InputError({.what = "The data set cannot be limited so.",
                      .where = "limit of the data set",
                      .expected = fmt::format("0 (all) to {} samples", available),
                      .found = fmt::format("{}", limit),
                      .advice = "Lower the limit or leave it out."});
  }
  return limit == 0 ? available : limit;
}

}  // namespace tandem

// Which samples each rank reads in each step: pure arithmetic, no state.
//
// One epoch is one order of the samples, the same for all ranks. The global batch of step s is positions
// [s*G, (s+1)*G) of that order, G = micro_batch * ranks * micro_steps, and within it
//
//   position = s*G + (micro_step * ranks + rank) * micro_batch + row.
//
// So the micro-batches of all ranks put together in rank order are, sample by sample, the micro-batch of one
// rank that is `ranks` times as large; and for a fixed G every split over ranks and micro-steps reads the
// same samples per step.
#pragma once

#include <cstdint>
#include <span>

namespace tandem {

// How a global batch is cut.
struct BatchGrid {
  std::int64_t micro_batch = 1;  // samples per rank and micro-step
  std::int64_t ranks = 1;
  std::int64_t micro_steps = 1;  // accumulation

  std::int64_t rank_batch() const { return micro_batch * micro_steps; }  // samples per rank and step
  std::int64_t global_batch() const { return rank_batch() * ranks; }
};

// Where a run stands, free of ranks and batch sizes: `samples` of epoch `epoch` are used up, over all ranks.
struct SamplePosition {
  std::int64_t epoch = 0;
  std::int64_t samples = 0;
  bool operator==(const SamplePosition&) const = default;
};

// The row of a batch that holds no sample.
inline constexpr std::int64_t kNoSample = -1;

// A value; copies are cheap and all methods may be called from any thread. Steps count from the start of the
// run and go on through the epochs.
class Sampler {
 public:
  // Shuffled anew each epoch from (seed, epoch). The remainder of the samples below one global batch is
  // dropped, so all ranks take equally many steps, each a full batch. Throws InputError if there are fewer
  // samples than one batch.
  static Sampler training(std::int64_t samples, const BatchGrid& grid, std::uint64_t seed);

  // In order of index, every sample exactly once per epoch whatever the number of ranks; rows beyond the last
  // sample are kNoSample. All ranks take equally many steps.
  static Sampler evaluation(std::int64_t samples, const BatchGrid& grid);

  const BatchGrid& grid() const { return grid_; }
  std::int64_t samples() const { return samples_; }
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  std::int64_t epoch_of(std::int64_t step) const { return step / steps_per_epoch_; }

  // Writes the sample indices of one rank's step: row micro_step * micro_batch + row. REQUIRES
  // [rank_batch()].
  void indices(std::int64_t step, std::int64_t rank, std::span<std::int64_t> rows) const;

  // Position before `step`, and back. A position may come from a run with other ranks or batches: it
  // continues the same order exactly. Throws InputError if it does not lie between two steps of this sampler.
  SamplePosition position_of(std::int64_t step) const;
  std::int64_t step_at(const SamplePosition& position) const;

 private:
  enum class Use { Training, Evaluation };
  Sampler(Use use, std::int64_t samples, const BatchGrid& grid, std::uint64_t seed);

  Use use_;
  std::int64_t samples_;
  BatchGrid grid_;
  std::uint64_t seed_;
  std::int64_t steps_per_epoch_;
};

// The number of samples to use when only the first `limit` are wanted; 0 means all. A shorter data set makes
// a shorter epoch: Sampler::training(first_samples(dataset.samples(), limit), …). Throws InputError if there
// are not so many.
std::int64_t first_samples(std::int64_t available, std::int64_t limit);

}  // namespace tandem

#include "data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "core/error.h"
#include "data/permutation.h"

namespace tandem {
namespace {

using Indices = std::vector<std::int64_t>;

Indices all_of(std::int64_t count) {
  Indices indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

Indices sorted(Indices indices) {
  std::sort(indices.begin(), indices.end());
  return indices;
}

Indices permuted(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  const Permutation order(count, seed, epoch);
  Indices indices = all_of(count);
  for (std::int64_t& index : indices) index = order(index);
  return indices;
}

Indices rank_step(const Sampler& sampler, std::int64_t step, std::int64_t rank) {
  Indices rows(static_cast<std::size_t>(sampler.grid().rank_batch()));
  sampler.indices(step, rank, rows);
  return rows;
}

Indices global_step(const Sampler& sampler, std::int64_t step) {
  Indices all;
  for (std::int64_t rank = 0; rank < sampler.grid().ranks; ++rank) {
    const Indices rows = rank_step(sampler, step, rank);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

Indices epoch_of(const Sampler& sampler, std::int64_t epoch) {
  Indices all;
  for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    const Indices rows = global_step(sampler, epoch * sampler.steps_per_epoch() + step);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

TEST(Permutation, IsABijectionForEveryCount) {
  for (std::int64_t count = 1; count <= 300; ++count)
    EXPECT_EQ(sorted(permuted(count, 3, 1)), all_of(count)) << count;
  EXPECT_EQ(sorted(permuted(60000, 7, 2)), all_of(60000));
  EXPECT_EQ(sorted(permuted((1 << 16) + 1, 7, 2)), all_of((1 << 16) + 1));
}

TEST(Permutation, DependsOnSeedAndEpoch) {
  EXPECT_EQ(permuted(1000, 1, 0), permuted(1000, 1, 0));
  EXPECT_NE(permuted(1000, 1, 0), permuted(1000, 1, 1));
  EXPECT_NE(permuted(1000, 1, 0), permuted(1000, 2, 0));
  EXPECT_NE(permuted(1000, 1, 1), permuted(1000, 2, 0));
}

// Each of the `count` indices is equally likely at each position: chi-squared per position over many seeds.
TEST(Permutation, PutsEveryIndexEverywhere) {
  constexpr std::int64_t kCount = 10;
  constexpr int kSeeds = 10000;
  std::vector<std::vector<int>> seen(kCount, std::vector<int>(kCount));
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Indices order = permuted(kCount, static_cast<std::uint64_t>(seed), 0);
    for (std::size_t position = 0; position < kCount; ++position) {
      ++seen[position][static_cast<std::size_t>(order[position])];
    }
  }
  constexpr double kExpected = static_cast<double>(kSeeds) / kCount;
  for (const auto& counts : seen) {
    double chi_squared = 0;
    for (const int count : counts) chi_squared += (count - kExpected) * (count - kExpected) / kExpected;
    EXPECT_LT(chi_squared, 33.7);  // 9 degrees of freedom, p = 1e-4
  }
}

// Neighbours in the data set, which often are alike, do not stay neighbours; nor does the order keep a trend.
TEST(Permutation, KeepsNeitherNeighboursNorTrend) {
  constexpr std::int64_t kCount = 60000;
  const Indices order = permuted(kCount, 11, 0);
  int neighbours = 0;
  double covariance = 0;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    neighbours += std::abs(order[i + 1] - order[i]) == 1;
    covariance += (static_cast<double>(order[i]) / kCount - 0.5) * (static_cast<double>(i) / kCount - 0.5);
  }
  EXPECT_LE(neighbours, 12);                                               // 2 are expected, Poisson
  EXPECT_LT(std::abs(12 * covariance / kCount), 5.0 / std::sqrt(kCount));  // correlation, 5 sigma
}

TEST(Permutation, ReachesPositionsOfVeryLargeSets) {
  const Permutation order(std::int64_t{1} << 62, 1, 0);
  EXPECT_NE(order(0), order((std::int64_t{1} << 62) - 1));
  EXPECT_THROW(order(std::int64_t{1} << 62), Error);
  EXPECT_THROW(order(-1), Error);
  EXPECT_THROW(Permutation(0, 1, 0), Error);
}

TEST(TrainingSampler, DropsTheRemainderAndReadsEverySampleAtMostOnce) {
  constexpr std::int64_t kBatch = 3;
  for (std::int64_t ranks = 1; ranks <= 8; ++ranks) {
    const std::int64_t global = kBatch * ranks;
    for (std::int64_t rest = 0; rest < global; ++rest) {
      const std::int64_t samples = 4 * global + rest;
      const auto sampler = Sampler::training(samples, {.micro_batch = kBatch, .ranks = ranks}, 5);
      EXPECT_EQ(sampler.steps_per_epoch(), 4);
      const Indices read = sorted(epoch_of(sampler, 1));
      EXPECT_EQ(std::ssize(read), 4 * global);
      EXPECT_EQ(std::adjacent_find(read.begin(), read.end()), read.end());
      EXPECT_GE(read.front(), 0);
      EXPECT_LT(read.back(), samples);
      if (rest == 0) {
        EXPECT_EQ(read, all_of(samples));
      }
    }
  }
}

TEST(TrainingSampler, RanksTogetherReadWhatOneRankWithTheWholeBatchReads) {
  for (const std::int64_t micro_steps : {1, 2, 3}) {
    for (std::int64_t ranks = 1; ranks <= 8; ++ranks) {
      constexpr std::int64_t kBatch = 2;
      const auto many =
          Sampler::training(200, {.micro_batch = kBatch, .ranks = ranks, .micro_steps = micro_steps}, 9);
      const auto one =
          Sampler::training(200, {.micro_batch = kBatch * ranks, .ranks = 1, .micro_steps = micro_steps}, 9);
      ASSERT_EQ(many.steps_per_epoch(), one.steps_per_epoch());
      for (std::int64_t step = 0; step < 2 * one.steps_per_epoch(); ++step) {
        const Indices whole = rank_step(one, step, 0);
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
          const Indices rows = rank_step(many, step, rank);
          for (std::int64_t row = 0; row < std::ssize(rows); ++row) {
            const std::int64_t in_whole = (row / kBatch * ranks + rank) * kBatch + row % kBatch;
            ASSERT_EQ(rows[static_cast<std::size_t>(row)], whole[static_cast<std::size_t>(in_whole)]);
          }
        }
      }
    }
  }
}

TEST(TrainingSampler, AFixedGlobalBatchReadsTheSameSamplesHoweverItIsCut) {
  const auto reference = Sampler::training(500, {.micro_batch = 24}, 2);
  for (const BatchGrid& grid :
       {BatchGrid{1, 24, 1}, BatchGrid{1, 1, 24}, BatchGrid{2, 3, 4}, BatchGrid{6, 2, 2}}) {
    const auto sampler = Sampler::training(500, grid, 2);
    for (std::int64_t step = 0; step < 45; ++step) {
      EXPECT_EQ(sorted(global_step(sampler, step)), sorted(global_step(reference, step)));
    }
  }
}

TEST(TrainingSampler, EveryEpochHasItsOwnOrder) {
  const auto sampler = Sampler::training(64, {.micro_batch = 8, .ranks = 2}, 1);
  EXPECT_NE(epoch_of(sampler, 0), epoch_of(sampler, 1));
  EXPECT_EQ(sampler.epoch_of(sampler.steps_per_epoch() - 1), 0);
  EXPECT_EQ(sampler.epoch_of(sampler.steps_per_epoch()), 1);
}

TEST(TrainingSampler, RefusesLessThanOneBatchAndOtherNonsense) {
  EXPECT_THROW(Sampler::training(23, {.micro_batch = 4, .ranks = 3, .micro_steps = 2}, 1), InputError);
  EXPECT_EQ(Sampler::training(24, {.micro_batch = 4, .ranks = 3, .micro_steps = 2}, 1).steps_per_epoch(), 1);
  EXPECT_THROW(Sampler::training(24, {.micro_batch = 0}, 1), Error);
  EXPECT_THROW(Sampler::training(24, {.micro_batch = std::int64_t{1} << 62, .ranks = 4}, 1), Error);
  Indices rows(4);
  const auto sampler = Sampler::training(24, {.micro_batch = 4, .ranks = 3}, 1);
  EXPECT_THROW(sampler.indices(0, 3, rows), Error);
  EXPECT_THROW(sampler.indices(-1, 0, rows), Error);
  EXPECT_THROW(sampler.indices(0, 0, std::span(rows).first(3)), Error);
}

TEST(EvaluationSampler, CountsEverySampleOnceForAnyNumberOfRanks) {
  for (std::int64_t ranks = 1; ranks <= 8; ++ranks) {
    for (std::int64_t samples = 1; samples <= 50; ++samples) {
      const auto sampler = Sampler::evaluation(samples, {.micro_batch = 3, .ranks = ranks});
      EXPECT_EQ(sampler.steps_per_epoch(), (samples + 3 * ranks - 1) / (3 * ranks));
      Indices read = epoch_of(sampler, 0);
      EXPECT_EQ(std::ssize(read), sampler.steps_per_epoch() * 3 * ranks);
      std::erase(read, kNoSample);
      EXPECT_EQ(sorted(read), all_of(samples));
    }
  }
}

TEST(SamplePosition, IsFreeOfRanksAndLeadsBackToTheStep) {
  const auto two = Sampler::training(100, {.micro_batch = 3, .ranks = 2, .micro_steps = 2}, 1);
  const auto four = Sampler::training(100, {.micro_batch = 3, .ranks = 4}, 1);
  for (std::int64_t step = 0; step < 30; ++step) {
    const SamplePosition position = two.position_of(step);
    EXPECT_EQ(two.step_at(position), step);
    EXPECT_EQ(four.step_at(position), step);
    EXPECT_EQ(sorted(global_step(two, step)), sorted(global_step(four, step)));
  }
  EXPECT_EQ(two.position_of(10), (SamplePosition{.epoch = 1, .samples = 24}));
}

TEST(SamplePosition, AnotherBatchContinuesAtABoundaryOrRefuses) {
  const auto small = Sampler::training(100, {.micro_batch = 10}, 1);
  const auto large = Sampler::training(100, {.micro_batch = 20}, 1);
  EXPECT_EQ(large.step_at(small.position_of(14)), 7);
  EXPECT_THROW(large.step_at(small.position_of(15)), InputError);
  // The samples read before the position are the same in both runs.
  Indices before;
  Indices before_large;
  for (std::int64_t step = 10; step < 14; ++step) {
    for (const std::int64_t index : global_step(small, step)) before.push_back(index);
  }
  for (std::int64_t step = 5; step < 7; ++step) {
    for (const std::int64_t index : global_step(large, step)) before_large.push_back(index);
  }
  EXPECT_EQ(before, before_large);
  EXPECT_THROW(small.step_at({.epoch = 0, .samples = 100}), InputError);
  EXPECT_THROW(small.step_at({.epoch = 0, .samples = -10}), InputError);
  EXPECT_THROW(small.step_at({.epoch = -1, .samples = 0}), InputError);
}

TEST(FirstSamples, LimitsOrRefuses) {
  EXPECT_EQ(first_samples(100, 0), 100);
  EXPECT_EQ(first_samples(100, 7), 7);
  EXPECT_EQ(first_samples(100, 100), 100);
  EXPECT_THROW(first_samples(100, 101), InputError);
  EXPECT_THROW(first_samples(100, -1), InputError);
}

}  // namespace
}  // namespace tandem

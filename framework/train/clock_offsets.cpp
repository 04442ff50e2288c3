#include "train/clock_offsets.h"

#include <chrono>
#include <cmath>
#include <limits>

#include "train/gather_numbers.h"

namespace tandem {
namespace {

constexpr std::size_t kBarriers = 16;

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

ClockOffset offset_between(const std::vector<double>& mine, const std::vector<double>& root) {
  ClockOffset tightest{.error_ms = std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < mine.size(); i += 2) {
    const double error_ms = (mine[i + 1] - mine[i] + root[i + 1] - root[i]) / 2.0;
    if (error_ms < tightest.error_ms)
      tightest = {(mine[i] + mine[i + 1] - root[i] - root[i + 1]) / 2.0, error_ms};
  }
  return tightest;
}

}  // namespace

std::vector<ClockOffset> measure_clock_offsets(RankGroup& group) {
  std::vector<double> times;  // arrival and departure of each barrier
  group.barrier();            // the first one that counts finds all ranks awake
  for (std::size_t i = 0; i < kBarriers; ++i) {
    times.push_back(now_ms());
    group.barrier();
    times.push_back(now_ms());
  }
  const auto all = gather_numbers(times, group);
  const auto hosts = group.all_gather(group.host());
  std::vector<ClockOffset> offsets{{}};  // rank 0's to itself
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const auto offset = offset_between(all[rank], all.front());
    const bool one_clock = hosts[rank] == hosts.front() && std::abs(offset.ms) <= offset.error_ms;
    offsets.push_back(one_clock ? ClockOffset{} : offset);
  }
  return offsets;
}

}  // namespace tandem

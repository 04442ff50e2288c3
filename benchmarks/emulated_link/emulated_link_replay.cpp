// emulated_link_replay: did training over an emulated link wait for as long as two streams would?
//
//   ./emulated_link_replay runs/*/record.json > replay.json
//
// Takes from each record when every bucket was ready and how long every update lasted, and sends the buckets
// over the link's formula once more, on paper: an all-reduce begins when its bucket is ready and the one
// before it has ended, and compute waits for it in the buckets' order. Exits with 1 if the waits differ from
// those that were measured by more than 1 % of the step, or the time of the all-reduces from their formula's
// by more than 3 %, or 5 us each where that is more. Under load the latter has not held yet: a transfer's
// blocks wait until multiprocessors are free. Alone, emulated_link_bench measures it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "comm/collective_cost.h"
#include "core/error.h"
#include "report/run_record.h"
#include "report/statistics.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kToleranceOfStep = 0.01;
constexpr double kToleranceOfBusy = 0.03;
constexpr double kToleranceOfBusyMs = 0.005;  // of each all-reduce

struct Waits {
  double exposed_ms = 0.0, busy_ms = 0.0;
};

Waits measured(const RankStepRecord& step) {
  Waits waits;
  for (std::size_t bucket = 0; bucket < step.wait_end_ms.size(); ++bucket) {
    waits.exposed_ms += step.wait_end_ms[bucket] - step.wait_begin_ms[bucket];
    waits.busy_ms += step.reduce_end_ms[bucket] - step.reduce_begin_ms[bucket];
  }
  return waits;
}

Waits replayed(const RankStepRecord& step, const std::vector<double>& all_reduce_ms, bool overlapped) {
  Waits waits;
  double link = overlapped ? 0.0 : step.backward_end_ms.back();
  double compute = step.wait_begin_ms.front();
  for (std::size_t bucket = 0; bucket < all_reduce_ms.size(); ++bucket) {
    link = std::max(link, step.ready_ms[bucket]) + all_reduce_ms[bucket];
    waits.busy_ms += all_reduce_ms[bucket];
    waits.exposed_ms += std::max(0.0, link - compute);
    compute = std::max(compute, link);
    // What compute does between two waits: the update of the bucket that came.
    if (bucket + 1 < all_reduce_ms.size())
      compute += step.wait_begin_ms[bucket + 1] - step.wait_end_ms[bucket];
  }
  return waits;
}

std::vector<double> formula_ms(const RunRecord& run) {
  const auto& link = *run.link.emulated;
  std::vector<double> all;
  for (const auto& bucket : run.buckets) {
    const auto time = modelled_time({link.model.latency_us, link.model.gbit_per_s}, CollectiveKind::AllReduce,
                                    ByteCount(bucket.bytes), link.ranks);
    all.push_back(std::chrono::duration<double, std::milli>(time).count());
  }
  return all;
}

// The median over the steps that the record shows stamp by stamp.
Json check(const std::string& path) {
  const auto run = read_run_record(path);
  TANDEM_EXPECT(run.link.emulated, "{}: the link was not emulated", path);
  TANDEM_EXPECT(!run.timelines.empty(), "{}: no step was recorded stamp by stamp", path);
  const auto all_reduce_ms = formula_ms(run);
  std::vector<double> found_share, expected_share, found_busy, step_ms;
  Waits expected;
  for (const auto& step : run.timelines) {
    const auto& rank = step.ranks.front();
    const auto found = measured(rank);
    expected = replayed(rank, all_reduce_ms, run.reduction.schedule == "overlapped");
    found_share.push_back(found.exposed_ms / rank.end_ms);
    expected_share.push_back(expected.exposed_ms / rank.end_ms);
    found_busy.push_back(found.busy_ms);
    step_ms.push_back(rank.end_ms);
  }
  const auto median = [](const std::vector<double>& values) {
    return statistics_of(Samples(values.begin(), values.end()))->median;
  };
  const double difference = std::abs(median(found_share) - median(expected_share));
  const double busy_tolerance = std::max(kToleranceOfBusy * expected.busy_ms,
                                         kToleranceOfBusyMs * static_cast<double>(all_reduce_ms.size()));
  return {{"record", path},
          {"name", run.name},
          {"link", run.link.description},
          {"steps", run.timelines.size()},
          {"step_ms", median(step_ms)},
          {"exposed_share", {{"replayed", median(expected_share)}, {"measured", median(found_share)}}},
          {"busy_ms", {{"formula", expected.busy_ms}, {"measured", median(found_busy)}}},
          {"exposed_holds", difference <= kToleranceOfStep},
          {"busy_holds", std::abs(median(found_busy) - expected.busy_ms) <= busy_tolerance}};
}

int run(int count, char** paths) {
  Json all = Json::array();
  bool holds = true;
  for (int i = 0; i < count; ++i) {
    all.push_back(check(paths[i]));
    holds = holds && all.back()["exposed_holds"].get<bool>() && all.back()["busy_holds"].get<bool>();
  }
  std::puts(all.dump(1).c_str());
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  try {
    return tandem::run(argc - 1, argv + 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

#include "launcher/run_plan.h"

namespace tandem {
namespace {

// Mean of the finished runs that `counts` accepts.
template <class Predicate>
std::optional<double> mean_seconds(std::span<const PlannedRun> plan,
                                   std::span<const std::optional<double>> seconds, Predicate counts) {
  double sum = 0.0;
  int runs = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!seconds[i] || !counts(plan[i])) continue;
    sum += *seconds[i];
    ++runs;
  }
  return runs > 0 ? std::optional(sum / runs) : std::nullopt;
}

}  // namespace

std::vector<PlannedRun> interleaved_runs(std::size_t links, int repeats) {
  std::vector<PlannedRun> plan;
  for (int round = 0; round < repeats; ++round)
    for (std::size_t turn = 0; turn < links; ++turn)
      plan.push_back({.link = (static_cast<std::size_t>(round) + turn) % links, .repeat = round + 1});
  return plan;
}

std::optional<double> seconds_for_run(std::span<const PlannedRun> plan,
                                      std::span<const std::optional<double>> seconds, std::size_t run) {
  const auto same_link = [&](const PlannedRun& other) { return other.link == plan[run].link; };
  if (const auto of_link = mean_seconds(plan, seconds, same_link)) return of_link;
  return mean_seconds(plan, seconds, [](const PlannedRun&) { return true; });
}

std::optional<double> seconds_for_rest(std::span<const PlannedRun> plan, std::span<const double> finished) {
  std::vector<std::optional<double>> seconds(finished.begin(), finished.end());
  seconds.resize(plan.size());
  return seconds_for_rest(plan, std::span<const std::optional<double>>(seconds));
}

std::optional<double> seconds_for_rest(std::span<const PlannedRun> plan,
                                       std::span<const std::optional<double>> seconds) {
  double rest = 0.0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (seconds[i]) continue;
    const auto run = seconds_for_run(plan, seconds, i);
    if (!run) return std::nullopt;
    rest += *run;
  }
  return rest;
}

}  // namespace tandem

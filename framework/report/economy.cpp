#include "report/economy.h"

#include <algorithm>
#include <functional>

#include "report/run_summary.h"

namespace tandem {
namespace {

constexpr double kSecondsPerHour = 3600.0;
constexpr double kJoulesPerKwh = 3.6e6;

using EpochValue = std::function<std::optional<double>(const EpochRecord&)>;

std::optional<double> median_over_epochs(const RunRecord& record, const EpochValue& value) {
  Samples samples;
  for (const auto& epoch : representative_epochs(record)) samples.push_back(value(epoch));
  const auto statistics = statistics_of(samples);
  return statistics ? std::optional(statistics->median) : std::nullopt;
}

std::optional<double> quotient(const std::optional<double>& a, double b) {
  return a && b > 0.0 ? std::optional(*a / b) : std::nullopt;
}

// The sum of the parts that have a price.
std::optional<double> total_cost(const PricesRecord& prices, const RunEconomy& economy) {
  if (!prices.per_rank_hour && !prices.per_kwh) return std::nullopt;
  if (prices.per_rank_hour && !economy.rank_time_cost) return std::nullopt;
  if (prices.per_kwh && !economy.energy_cost) return std::nullopt;
  return economy.rank_time_cost.value_or(0.0) + economy.energy_cost.value_or(0.0);
}

void add_costs(const RunRecord& record, RunEconomy& economy) {
  if (!record.prices) return;
  const auto& prices = *record.prices;
  const auto wall_s =
      median_over_epochs(record, [](const EpochRecord& epoch) { return std::optional(epoch.wall_s); });
  if (prices.per_rank_hour && wall_s)
    economy.rank_time_cost = *prices.per_rank_hour * record.world_size * *wall_s / kSecondsPerHour;
  if (prices.per_kwh && economy.kwh_per_epoch) economy.energy_cost = *prices.per_kwh * *economy.kwh_per_epoch;
  economy.epoch_cost = total_cost(prices, economy);
}

}  // namespace

RunEconomy economy_of(const RunRecord& record) {
  RunEconomy economy;
  economy.items_per_s = median_over_epochs(record, items_per_s);
  economy.items_per_s_per_rank = quotient(economy.items_per_s, record.world_size);
  if (economy.items_per_s_per_rank && record.model.flops_per_item && record.peak)
    economy.flops_utilization =
        *economy.items_per_s_per_rank * *record.model.flops_per_item / record.peak->flops_per_s;
  economy.training_j_per_item = median_over_epochs(record, [](const EpochRecord& epoch) {
    return quotient(epoch.training_energy_j, static_cast<double>(epoch.items));
  });
  economy.kwh_per_epoch = median_over_epochs(
      record, [](const EpochRecord& epoch) { return quotient(epoch.energy_j, kJoulesPerKwh); });
  add_costs(record, economy);
  return economy;
}

std::optional<double> seconds_to_first_step(const RunRecord& record) {
  double first_step_ms = 0.0;
  for (const auto& rank : record.timing) {
    if (rank.step_ms.empty() || !rank.step_ms.front()) return std::nullopt;
    first_step_ms = std::max(first_step_ms, *rank.step_ms.front());
  }
  if (record.timing.empty() || record.startup.empty()) return std::nullopt;
  double startup_ms = 0.0;
  for (const auto& phase : record.startup) startup_ms += phase.ms;
  return (startup_ms + first_step_ms) * 1e-3;
}

}  // namespace tandem

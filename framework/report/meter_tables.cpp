// Tables of what communication costs, of single ranks, and of throughput, energy and money.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "report/contention.h"
#include "report/economy.h"
#include "report/run_summary.h"
#include "report/table_text.h"
#include "report/tables.h"

namespace tandem {
namespace {

std::optional<double> mean_after_warmup(const Samples& samples, int warmup_steps) {
  const auto first = std::min(samples.size(), static_cast<std::size_t>(warmup_steps));
  const auto statistics =
      statistics_of(Samples(samples.begin() + static_cast<std::ptrdiff_t>(first), samples.end()));
  return statistics ? std::optional(statistics->mean) : std::nullopt;
}

std::string significant(const std::optional<double>& value, const std::string& unit) {
  if (!value) return kNoValue;
  return unit.empty() ? fmt::format("{:.4g}", *value) : fmt::format("{:.4g} {}", *value, unit);
}

std::string energy_text(const std::optional<double>& value, const std::string& unit) {
  return value ? significant(value, unit) : fmt::format("{}: the power of the ranks was not read", kNoValue);
}

std::string money(const std::optional<double>& value, const PricesRecord& prices) {
  return significant(value, prices.currency);
}

std::string utilization_text(const RunRecord& run, const RunEconomy& economy) {
  if (!run.peak)
    return fmt::format("{}: no peak is known for this device; set measure.peak_tflops", kNoValue);
  return fmt::format("{} % of {:.4g} TFLOP/s per rank ({})", percent(economy.flops_utilization),
                     run.peak->flops_per_s * 1e-12, run.peak->source);
}

// "the pairs do not tell it from zero" or nothing.
std::string contention_words(const ContentionSummary& control) {
  if (control.contradicts_itself())
    return "\n**Warning:** the step is faster with communication than without, beyond what the pairs vary: "
           "the control run contradicts itself.\n";
  if (!control.contention_shown()) return "- contention: its range contains 0, so none has been shown\n";
  return "";
}

}  // namespace

TextTable rank_table(const RunRecord& run) {
  struct Column {
    const char* name;
    Samples RankTimingRecord::*samples;
  };
  std::vector<Column> shown = {{"step ms", &RankTimingRecord::step_ms},
                               {"data wait ms", &RankTimingRecord::data_wait_ms},
                               {"forward ms", &RankTimingRecord::forward_ms},
                               {"backward ms", &RankTimingRecord::backward_ms}};
  if (!run.recomputed.empty()) shown.push_back({"of it recompute ms", &RankTimingRecord::recompute_ms});
  shown.insert(shown.end(), {{"exposed ms", &RankTimingRecord::exposed_ms},
                             {"optimizer ms", &RankTimingRecord::optimizer_ms},
                             {"other ms", &RankTimingRecord::other_ms},
                             {"busy ms", &RankTimingRecord::comm_busy_ms}});
  std::vector<TextTable::Column> columns{{"rank"}};
  for (const auto& column : shown) columns.push_back({column.name});
  columns.push_back({"peer wait ms"});
  if (run.energy) columns.push_back({"energy J"});
  TextTable table(std::move(columns));
  for (std::size_t rank = 0; rank < run.timing.size(); ++rank) {
    std::vector<std::string> cells{fmt::format("{}", rank)};
    for (const auto& column : shown)
      cells.push_back(number(mean_after_warmup(run.timing[rank].*column.samples, run.warmup_steps), 3));
    cells.push_back(
        number(run.bucket_times ? std::optional(run.bucket_times->peer_wait_ms[rank]) : std::nullopt, 3));
    if (run.energy) cells.push_back(fmt::format("{:.0f}", run.energy->rank_j[rank]));
    table.add_row(std::move(cells));
  }
  return table;
}

TextTable contention_table(const RunRecord& run) {
  TANDEM_EXPECT(run.control.has_value(), "run \"{}\" had no control run", run.name);
  TextTable table({{"per step", Align::Left}, {"median ms"}, {"min ms"}, {"max ms"}, {"share of T_on %"}});
  const auto control = summarize_control(*run.control);
  if (!control) return table;
  const auto add = [&](const char* name, const Spread& value) {
    const double share = value.median / control->step_on_ms.median;
    table.add_row(
        {name, number(value.median, 3), number(value.min, 3), number(value.max, 3), percent(share)});
  };
  add("step with the all-reduce call (T_on)", control->step_on_ms);
  add("step without it (T_off)", control->step_off_ms);
  add("cost of communication (T_on - T_off)", control->comm_cost_ms);
  add("of it exposed, on the rank that is waited for", control->exposed_ms);
  add("of it contention, the rest", control->contention_ms);
  add("skew cost, in T_on and T_off alike", control->skew_cost_ms);
  return table;
}

std::string contention_section(const RunRecord& run) {
  if (!run.control) return {};
  const auto control = summarize_control(*run.control);
  if (!control) return {};
  return fmt::format(
      "\n## What communication costs: a control run after training, not training\n\n{}\n- {} pairs of "
      "segments "
      "of {} steps, with and without the all-reduce call, after {} of warm-up; every step begins at a "
      "barrier\n{}",
      contention_table(run).markdown(), control->pairs, control->steps, run.control->warmup_steps,
      contention_words(*control));
}

TextTable economy_table(const RunRecord& run) {
  const auto economy = economy_of(run);
  const auto& item = run.batch.item;
  const std::string one = item.substr(0, item.size() - 1);
  TextTable table({{"quantity", Align::Left}, {"value", Align::Left}});
  table.add_row({item + "/s, all ranks", significant(economy.items_per_s, "")});
  table.add_row({item + "/s per rank", significant(economy.items_per_s_per_rank, "")});
  table.add_row({"model FLOPs per " + one, significant(run.model.flops_per_item, "")});
  table.add_row({"MFU", utilization_text(run, economy)});
  table.add_row({"energy per " + one, energy_text(economy.training_j_per_item, "J")});
  table.add_row({"energy per epoch", energy_text(economy.kwh_per_epoch, "kWh")});
  if (!run.prices) return table;
  const auto& prices = *run.prices;
  if (prices.per_rank_hour)
    table.add_row({fmt::format("cost of the ranks per epoch, at {:.4g} {} per rank and hour",
                               *prices.per_rank_hour, prices.currency),
                   money(economy.rank_time_cost, prices)});
  if (prices.per_kwh)
    table.add_row(
        {fmt::format("cost of energy per epoch, at {:.4g} {} per kWh", *prices.per_kwh, prices.currency),
         money(economy.energy_cost, prices)});
  table.add_row({"cost per epoch", money(economy.epoch_cost, prices)});
  return table;
}

TextTable startup_table(const RunRecord& run) {
  TextTable table({{"phase", Align::Left}, {"ms"}});
  for (const auto& phase : run.startup) table.add_row({phase.phase, number(phase.ms, 1)});
  if (run.graph_capture_ms)
    table.add_row({"recording of steps for replay, within the first steps", number(run.graph_capture_ms, 1)});
  return table;
}

}  // namespace tandem

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "report/conclusions.h"
#include "report/economy.h"
#include "report/run_summary.h"
#include "report/table_text.h"
#include "report/tables.h"

namespace tandem {
namespace {

std::string names_of(const BucketRecord& bucket) {
  if (bucket.first_parameter == bucket.last_parameter) return bucket.first_parameter;
  return fmt::format("{} … {}", bucket.first_parameter, bucket.last_parameter);
}

double largest_of(const std::vector<double>& values) {
  return values.empty() ? 0.0 : *std::max_element(values.begin(), values.end());
}

double mean_of(const std::vector<double>& values) {
  const auto statistics = statistics_of(std::span<const double>(values));
  return statistics ? statistics->mean : 0.0;
}

std::string closing(const std::optional<double>& unaccounted) {
  if (!unaccounted) return kNoValue;
  if (std::abs(*unaccounted) <= kClosingTolerance) return "closes within 2 %";
  return fmt::format("unaccounted {:.1f} %", *unaccounted * 100.0);
}

std::string facts(const RunRecord& run) {
  std::string text = fmt::format("# Run {}\n\n", run.name);
  for (const auto& words : caveats(run)) text += fmt::format("**{}**\n\n", words);
  text += fmt::format("- started: {}, `{}`\n", run.started, run.command_line);
  text +=
      fmt::format("- program: tandem {} ({}, {})\n", run.program.version, run.program.git, run.program.build);
  text += fmt::format("- model: {}, {} parameters (+ {} padding), {} bytes\n", run.model.name,
                      with_thousands(run.model.parameters), with_thousands(run.model.padding),
                      with_thousands(run.model.bytes));
  text += fmt::format("- batch: {}\n", batch_line(run.batch, run.world_size));
  text += fmt::format("- hosts: {}\n", hosts_line(run.hosts));
  text += fmt::format("- link: asked {}, found {}\n", run.link.asked,
                      with_caveats(run.link.transport_found, caveats(run)));
  if (const auto& proof = run.link.proof)
    text += fmt::format("- proof of the link: {} bytes acknowledged on TCP sockets, {} had to be sent\n",
                        with_thousands(std::llround(proof->tcp_bytes)),
                        with_thousands(std::llround(proof->expected_bytes)));
  text += fmt::format("- reduction: {}\n", reduction_line(run.reduction));
  if (!run.recomputed.empty()) text += fmt::format("- recompute: {}\n", recompute_line(run.recomputed));
  text += fmt::format("- learning rate: {:g} = {}\n", run.learning_rate.effective, run.learning_rate.formula);
  if (const auto first = seconds_to_first_step(run))
    text += fmt::format("- time to first step: {:.2f} s from the program's start\n", *first);
  for (const auto& note : run.notes) text += fmt::format("- note: {}\n", note);
  return text;
}

std::string steps_section(const RunRecord& run, const RunSummary& summary) {
  std::string text = fmt::format("\n## Step, {} measured after {} of warm-up, {} ranks\n\n",
                                 summary.measured_steps, run.warmup_steps, run.timing.size());
  text += step_table(run).markdown();
  text += fmt::format("\n- communication share, exposed: {} %\n", percent(summary.exposed_share));
  text += fmt::format("- communication share, busy: {} %\n", percent(summary.busy_share));
  text += fmt::format("- overlap ratio: {}\n", number(summary.overlap_ratio, 2));
  text += fmt::format("- sum of the parts: {}\n", closing(summary.unaccounted_share));
  if (run.timing.size() > 1) text += fmt::format("\n## Ranks, mean step\n\n{}", rank_table(run).markdown());
  return text;
}

std::string buckets_section(const RunRecord& run, const RunSummary& summary) {
  const auto& times = *run.bucket_times;
  std::string text = fmt::format("\n## Buckets, per step\n\n{}\n", bucket_table(run).markdown());
  text += fmt::format("- reduced per step: {} bytes\n", with_thousands(reduced_bytes_per_step(run)));
  text += fmt::format("- wire: {:.3f} ms; peer wait: mean over ranks {:.3f} ms, largest {:.3f} ms\n",
                      times.wire_ms, mean_of(times.peer_wait_ms), largest_of(times.peer_wait_ms));
  text +=
      fmt::format("- bus bandwidth: {} GB/s in training, {} GB/s alone\n",
                  number(summary.bus_gb_per_s_in_training, 3), number(run.link.bus_gb_per_s_standalone, 3));
  const auto warning =
      bandwidth_warning(run.name, summary.bus_gb_per_s_in_training, run.link.bus_gb_per_s_standalone);
  return warning.empty() ? text : text + '\n' + warning;
}

}  // namespace

TextTable step_table(const RunRecord& run) {
  TextTable table({{"part of the step", Align::Left},
                   {"median ms"},
                   {"mean ms"},
                   {"p95 ms"},
                   {"slowest rank's mean ms"},
                   {"share of the step %"}});
  for (const auto& quantity : summarize(run).quantities)
    table.add_row({quantity.name, number(quantity.steps.median, 3), number(quantity.steps.mean, 3),
                   number(quantity.steps.p95, 3), number(quantity.slowest_rank_mean_ms, 3),
                   percent(quantity.share_of_step)});
  return table;
}

TextTable bucket_table(const RunRecord& run) {
  TANDEM_EXPECT(run.bucket_times && run.bucket_times->buckets.size() == run.buckets.size(),
                "run \"{}\" has no times of its buckets", run.name);
  TextTable table({{"bucket"},
                   {"parameters", Align::Left},
                   {"bytes"},
                   {"wire ms"},
                   {"longest rank median ms"},
                   {"exposed ms"},
                   {"bus GB/s"}});
  const auto& times = run.bucket_times->buckets;
  const int ranks = ranks_in_all_reduce(run);
  int short_buckets = 0;
  std::int64_t short_bytes = 0;
  double short_wire_ms = 0.0, short_median_ms = 0.0, short_exposed_ms = 0.0;
  for (std::size_t b = 0; b < times.size(); ++b) {
    const auto& bucket = run.buckets[b];
    const double longest_ms = largest_of(times[b].rank_median_ms);
    const double exposed_ms = largest_of(times[b].rank_exposed_ms);
    if (times[b].wire_ms < kShortestBucketShownMs) {
      ++short_buckets;
      short_bytes += bucket.bytes;
      short_wire_ms += times[b].wire_ms;
      short_median_ms += longest_ms;
      short_exposed_ms += exposed_ms;
      continue;
    }
    table.add_row(
        {fmt::format("{}", bucket.index), names_of(bucket), with_thousands(bucket.bytes),
         number(times[b].wire_ms, 3), number(longest_ms, 3), number(exposed_ms, 3),
         number(all_reduce_bus_gb_per_s(static_cast<double>(bucket.bytes), ranks, times[b].wire_ms), 3)});
  }
  if (short_buckets > 0)
    table.add_row({fmt::format("{} more", short_buckets), "each under 20 us", with_thousands(short_bytes),
                   number(short_wire_ms, 3), number(short_median_ms, 3), number(short_exposed_ms, 3),
                   kNoValue});
  return table;
}

TextTable epoch_table(const RunRecord& run) {
  TextTable table({{"epoch"},
                   {"wall s"},
                   {"evaluation s"},
                   {"checkpoint s"},
                   {run.batch.item + "/s"},
                   {"training loss"},
                   {"evaluation loss"},
                   {"evaluation accuracy %"},
                   {"sum of the parts", Align::Left}});
  for (const auto& epoch : run.epochs) {
    const auto accuracy =
        epoch.eval_accuracy ? fmt::format("{:.2f}", *epoch.eval_accuracy * 100.0) : kNoValue;
    table.add_row({fmt::format("{}", epoch.epoch), number(epoch.wall_s, 3), number(epoch.eval_s, 3),
                   number(epoch.checkpoint_s, 3), number(items_per_s(epoch), 1), number(epoch.train_loss, 4),
                   number(epoch.eval_loss, 4), accuracy, closing(unaccounted_share(run, epoch))});
  }
  return table;
}

std::string run_markdown(const RunRecord& run) {
  const RunSummary summary = summarize(run);
  std::string text = facts(run);
  if (const auto conclusions = conclusions_of(run); !conclusions.empty())
    text += "\n## What limits this run\n\n" + conclusions_markdown(conclusions);
  if (!run.startup.empty())
    text += fmt::format("\n## Start-up, in no epoch\n\n{}", startup_table(run).markdown());
  if (!summary.quantities.empty()) text += steps_section(run, summary);
  if (run.bucket_times) text += buckets_section(run, summary);
  text += contention_section(run);
  if (!run.epochs.empty()) {
    text += fmt::format("\n## Epochs\n\n{}", epoch_table(run).markdown());
    if (const auto steps = extrapolated_from_steps(run))
      text += fmt::format("\n- a whole epoch of {} steps, extrapolated from {}: {:.1f} s\n",
                          run.batch.steps_per_epoch, *steps, representative_epochs(run).front().wall_s);
    text += fmt::format("\n## Throughput, energy and cost\n\n{}", economy_table(run).markdown());
  }
  if (run.results)
    text +=
        fmt::format("\n## Result\n\nAccuracy: {}\n", accuracy_text(run.results->correct, run.results->total));
  return text;
}

}  // namespace tandem

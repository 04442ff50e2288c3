#include "page/run_page.h"

#include <fmt/format.h>

#include "page/assets.h"
#include "page/html_text.h"
#include "page/machine_picture.h"
#include "page/page_frame.h"
#include "page/page_template.h"
#include "page/timeline_picture.h"
#include "page/topology_picture.h"
#include "report/conclusions.h"
#include "report/economy.h"
#include "report/run_summary.h"
#include "report/table_text.h"
#include "report/tables.h"

namespace tandem {
namespace {

bool on_gpus(const RunRecord& run) {
  return run.versions.contains("CUDA runtime");
}

std::string transport_words(const RunRecord& run) {
  return with_caveats(run.link.transport_found, caveats(run));
}

std::vector<Tile> tiles_of(const RunRecord& run, const RunSummary& summary) {
  std::vector<Tile> tiles;
  if (const auto speed = economy_of(run).items_per_s)
    tiles.push_back({"throughput", fmt::format("{:.{}f} {}/s", *speed, decimals_for(*speed), run.batch.item),
                     fmt::format("on {} rank{}", run.world_size, run.world_size == 1 ? "" : "s")});
  for (const auto& quantity : summary.quantities)
    if (quantity.name == "step")
      tiles.push_back(
          {"step, median", number(quantity.steps.median, decimals_for(quantity.steps.median)) + " ms",
           fmt::format("95 % within {} ms", number(quantity.steps.p95, decimals_for(quantity.steps.p95)))});
  if (ranks_in_all_reduce(run) > 1 && summary.exposed_share) {
    tiles.push_back({"communication share, exposed", percent(summary.exposed_share) + " %", "compute waits"});
    tiles.push_back({"communication share, busy", percent(summary.busy_share) + " %",
                     "overlap ratio " + number(summary.overlap_ratio, 2)});
  }
  if (const auto bandwidth = summary.bus_gb_per_s_in_training)
    tiles.push_back({"bus bandwidth in training", number(*bandwidth, decimals_for(*bandwidth)) + " GB/s",
                     number(run.link.bus_gb_per_s_standalone, 3) + " GB/s alone"});
  if (run.results && run.results->total > 0)
    tiles.push_back(
        {"accuracy",
         fmt::format("{:.2f} %", 100.0 * static_cast<double>(run.results->correct) /
                                     static_cast<double>(run.results->total)),
         fmt::format("{} of {}", with_thousands(run.results->correct), with_thousands(run.results->total))});
  return tiles;
}

std::map<std::string, std::string> facts_of(const RunRecord& run) {
  std::map<std::string, std::string> facts = {
      {"batch", batch_line(run.batch, run.world_size)},
      {"model", fmt::format("{}, {} parameters", run.model.name, with_thousands(run.model.parameters))},
      {"program", fmt::format("tandem {} ({}, {})", run.program.version, run.program.git, run.program.build)},
      {"reduction", reduction_line(run.reduction)},
      {"learning rate", fmt::format("{:g} = {}", run.learning_rate.effective, run.learning_rate.formula)},
      {"started", run.started}};
  if (!run.recomputed.empty()) facts["recompute"] = recompute_line(run.recomputed);
  if (const auto first = seconds_to_first_step(run))
    facts["time to first step"] = fmt::format("{:.2f} s from the program's start", *first);
  return facts;
}

std::string fit_words(const RunRecord& run) {
  const auto fit = fit_link(all_reduce_times(run), ranks_in_all_reduce(run));
  if (!fit)
    return "No line of time = latency + bytes / bandwidth goes through these buckets: their sizes are too "
           "alike, or "
           "their times do not grow with them.";
  if (!fit->is_trusted())
    return fmt::format(
        "No line is drawn: time = latency + bytes / bandwidth explains only {:.0f} % of how the times of "
        "these "
        "buckets differ (r²).",
        fit->r_squared * 100.0);
  return fmt::format(
      "The line is time = latency + bytes / bandwidth by least squares: {:.3f} ms + bytes at {:.3f} GB/s bus "
      "bandwidth; "
      "it explains {:.0f} % of how the times differ (r²).",
      fit->latency_ms, fit->bus_gb_per_s, fit->r_squared * 100.0);
}

std::string list_of_caveats(const RunRecord& run) {
  const auto list = html_list(caveats(run));
  return list.empty() ? list : "<ul class=\"caveats\">" + list.substr(4);
}

TextTable loss_table(const RunRecord& run) {
  TextTable table({{"step"}, {"training loss"}});
  for (const auto& loss : run.losses) table.add_row({fmt::format("{}", loss.step), number(loss.loss, 4)});
  return table;
}

void add_timing(const RunRecord& run, const RunSummary& summary, PageValues& values) {
  if (summary.quantities.empty()) return;
  values["step_table"] =
      html_table(step_table(run), fmt::format("Step, {} measured after {} of warm-up, {} ranks",
                                              summary.measured_steps, run.warmup_steps, run.timing.size()));
  if (run.timing.size() > 1) values["rank_table"] = html_table(rank_table(run), "Mean step of each rank");
  if (const auto* step = shown_step(run)) {
    values["timeline"] = timeline_picture(*step, run);
    values["timeline_table"] = html_table(timeline_table(*step, run), "Stretches of the step");
    values["timeline_words"] = fmt::format(
        "Step {}. A mark below the compute lane is a bucket whose gradients are written; its line leads to "
        "the "
        "all-reduce. Red: compute waits. Ranks stand side by side by their clocks.",
        step->step);
    if (step->ranks.size() > kMostRanksDrawn)
      values["timeline_words"] +=
          fmt::format(" The first {} of {} ranks are drawn.", kMostRanksDrawn, step->ranks.size());
  }
}

void add_learning(const RunRecord& run, PageValues& values) {
  if (run.epochs.empty()) return;
  values["epoch_table"] = html_table(epoch_table(run), "Epochs");
  if (run.results)
    values["result"] =
        escape_html(fmt::format("Accuracy: {}.", accuracy_text(run.results->correct, run.results->total)));
  if (!run.losses.empty()) values["loss_table"] = html_table(loss_table(run), "Logged training losses");
}

void add_machine(const RunRecord& run, PageValues& values) {
  values["machine_table"] = html_table(machine_table(run.hosts), "Hosts");
  if (run.topology.empty()) {
    values["machine"] = machine_picture(run.hosts, transport_words(run), on_gpus(run));
    return;
  }
  values["machine"] = topology_picture(run.topology, transport_words(run));
  values["machine_table"] += topology_tables(run.topology);
}

PageValues empty_values() {
  PageValues values;
  for (const char* name : {"bucket_table", "fit_words", "step_table", "rank_table", "timeline",
                           "timeline_table", "timeline_words", "epoch_table", "result", "loss_table",
                           "startup_table", "economy_table", "contention_table"})
    values[name];
  return values;
}

}  // namespace

std::string run_page(const RunRecord& run) {
  const auto summary = summarize(run);
  auto values = empty_values();
  values["title"] = escape_html(run.name);
  values["lead"] =
      escape_html(fmt::format("{} on {} rank{} over {}, {}", run.model.name, run.world_size,
                              run.world_size == 1 ? "" : "s", transport_words(run), run.started));
  values["caveats"] = list_of_caveats(run);
  values["tiles"] = html_tiles(tiles_of(run, summary));
  values["conclusions"] = html_conclusions(conclusions_of(run), 3);
  values["rank_count"] = fmt::format("{}", run.timing.size());
  add_timing(run, summary, values);
  if (run.bucket_times) {
    values["bucket_table"] = html_table(bucket_table(run), "Buckets, per step");
    values["fit_words"] = escape_html(fit_words(run));
  }
  if (run.control) values["contention_table"] = html_table(contention_table(run), "What communication costs");
  add_learning(run, values);
  if (!run.epochs.empty())
    values["economy_table"] = html_table(economy_table(run), "Throughput, energy and cost");
  if (!run.startup.empty()) values["startup_table"] = html_table(startup_table(run), "Start-up, in no epoch");
  add_machine(run, values);
  values["link_words"] = escape_html(fmt::format("Link asked: {}. Found: {}, by {}.", run.link.asked,
                                                 transport_words(run), run.link.description));
  values["facts"] = html_facts(facts_of(run), "The run");
  values["versions"] = html_facts(run.versions, "Versions");
  values["variables"] = html_facts(run.environment, "Environment variables");
  values["notes"] = html_list(run.notes);
  values["command"] = escape_html(job_command(run.command_line, run.world_size));
  values["config"] = escape_html(run.config);
  return framed_page(run.name, fill_template(assets::run, values), PageData::of(run));
}

}  // namespace tandem

#include "launcher/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <utility>

#include "core/error.h"
#include "launcher/gathering.h"
#include "launcher/recorded_run.h"
#include "launcher/result_folder.h"
#include "launcher/run_identity.h"
#include "report/progress.h"
#include "run_config/run_config.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

// "resnet-tcp-0.5gbit-100us-repeat-1": names of runs may become file names.
std::string file_name(std::string name) {
  for (char& c : name)
    if (std::string_view("@+/=, []:").find(c) != std::string_view::npos) c = '-';
  return name;
}

// A record that was written whole, of a run that ended well.
std::optional<RunRecord> finished_record(const fs::path& folder, const LaunchRecord& launch) {
  std::error_code ignored;  // what cannot be looked at is not there
  if (launch.state != LaunchRecord::kFinished || !fs::exists(folder / "record.json", ignored))
    return std::nullopt;
  return read_run_record(folder / "record.json");
}

// Which of many runs has a wrong config.
template <class Load>
auto naming_the_cell(const std::string& cell, Load load) {
  try {
    return load();
  } catch (const InputError& error) {
    auto problem = error.problem();
    problem.where += fmt::format(", in the run \"{}\"", cell);
    throw InputError(std::move(problem));
  }
}

[[noreturn]] void refuse_folder(const fs::path& folder, const std::string& found) {
  throw InputError({.what = "The folder holds a run of something else.",
                    .where = folder.string(),
                    .expected = "no run, or one of the same config, ranks, program and environment",
                    .found = found,
                    .advice = "choose another folder with --out, or replace its runs with --fresh"});
}

}  // namespace

Experiment::Experiment(ExperimentOptions options, std::vector<ExperimentCell> cells)
    : options_(std::move(options)), cells_(std::move(cells)), failures_(cells_.size()) {
  for (const auto& run : interleaved_runs(cells_.size(), options_.repeats))
    if (run.repeat == 1 || !cells_[run.link].single) plan_.push_back(run);
  for (std::size_t c = 0; c < cells_.size(); ++c)
    records_.emplace_back(static_cast<std::size_t>(options_.repeats));
  for (const auto& run : plan_)
    specs_.push_back(naming_the_cell(cells_[run.link].label, [&] { return make_spec(run); }));
  if (options_.fresh) return;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    look_for_earlier(specs_[i]);
    if (!specs_[i].done) continue;
    records_[plan_[i].link][static_cast<std::size_t>(plan_[i].repeat - 1)] =
        read_run_record(specs_[i].folder / "record.json");
  }
}

Launch Experiment::launch_of(const ExperimentCell& cell) const {
  Launch launch = options_.launch;
  launch.config = cell.config;
  return launch;
}

Experiment::RunSpec Experiment::make_spec(const PlannedRun& run) const {
  const auto& cell = cells_[run.link];
  RunSpec spec{.title = cell.label,
               .cell = run.link,
               .overrides = cell.overrides,
               .folder = options_.out / cell.folder};
  auto name = fmt::format("{}-{}", load_run_config(cell.config, cell.overrides).report.name, cell.folder);
  if (!cell.single) {
    spec.title += fmt::format(", repeat {}", run.repeat);
    spec.folder /= fmt::format("repeat-{}", run.repeat);
    name += fmt::format("-repeat-{}", run.repeat);
  }
  spec.overrides.push_back("report.name=" + file_name(name));
  const auto launch = launch_of(cell);
  resolve_batch(load_run_config(cell.config, spec.overrides).train, launch.ranks);
  spec.launch.identity = run_identity(launch, spec.overrides);
  return spec;
}

void Experiment::look_for_earlier(RunSpec& spec) const {
  std::error_code ignored;  // what cannot be looked at is not there
  const auto launch_file = spec.folder / "launch.json";
  if (!fs::exists(launch_file, ignored)) {
    if (fs::exists(spec.folder / "record.json", ignored))
      refuse_folder(spec.folder, "a record.json without the launch.json that says how it came about");
    return;
  }
  const auto earlier = read_launch_record(launch_file);
  if (const auto difference = first_difference(earlier.identity, spec.launch.identity))
    refuse_folder(spec.folder, *difference);
  if (!finished_record(spec.folder, earlier)) return;
  spec.launch = earlier;
  spec.done = true;
}

void Experiment::run(const std::function<void()>& after_round) {
  make_result_folder(options_.out);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (!specs_[i].done && failures_[plan_[i].link].empty()) {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
      if (!affordable(i, elapsed.count())) {
        within_budget_ = false;
        return;
      }
      start(i);
    }
    const bool round_ends = i + 1 == plan_.size() || plan_[i + 1].repeat != plan_[i].repeat;
    if (round_ends && after_round) after_round();
  }
}

// "run 3 of 10: tcp, repeat 1; about 1:20 left, then the accuracy run"
void Experiment::start(std::size_t index) {
  auto& spec = specs_[index];
  std::string line =
      fmt::format("run {} of {}: {}", options_.runs_before + static_cast<int>(index) + 1,
                  options_.runs_before + static_cast<int>(plan_.size()) + options_.runs_after, spec.title);
  if (const auto left = seconds_for_rest(plan_, std::span<const std::optional<double>>(seconds())))
    line += fmt::format("; about {} left{}", format_duration(*left), options_.afterwards);
  fmt::print(stderr, "{}\n", line);
  auto record = train(spec);
  if (spec.done)
    records_[plan_[index].link][static_cast<std::size_t>(plan_[index].repeat - 1)] = std::move(record);
  else
    failures_[plan_[index].link] = fmt::format("exit status {}", spec.launch.exit_status.value_or(1));
}

RunRecord Experiment::train(RunSpec& spec) {
  if (options_.fresh) fs::remove_all(spec.folder);
  make_result_folder(spec.folder);
  const auto record = spec.folder / "record.json";
  fs::remove(record);  // of a run that did not end well
  const auto launch = launch_of(cells_[spec.cell]);
  write_launch_files(launch, spec.folder);
  const auto outcome = run_recorded({.title = spec.title,
                                     .command = launch_command(launch, spec.overrides, spec.folder),
                                     .identity = spec.launch.identity,
                                     .folder = spec.folder});
  spec.launch = outcome.launch;
  const bool well = outcome.launch.state == LaunchRecord::kFinished;
  if (well) gather_results(launch, spec.folder);
  spec.done = well && fs::exists(record);
  if (spec.done) return read_run_record(record);
  if (options_.keep_going && !outcome.ended.interrupted) {
    fmt::print(stderr, "The run \"{}\" {}; log: {}\n", spec.title,
               well ? "left no record" : how_it_ended(outcome.ended), (spec.folder / "log.txt").string());
    return {};
  }
  throw RunFailed(
      fmt::format(
          "The run \"{}\" {}.\n  {:<9} {}\n  {:<9} {}", spec.title,
          well ? fmt::format("succeeded but left no {}", record.string()) : how_it_ended(outcome.ended),
          "log:", (spec.folder / "log.txt").string(),
          "kept:", "the records of finished runs; the same command goes on where this one stopped"),
      well ? 1 : exit_status_for(outcome.ended));
}

std::vector<std::optional<double>> Experiment::seconds() const {
  std::vector<std::optional<double>> seconds;
  for (const auto& spec : specs_) seconds.push_back(spec.done ? spec.launch.seconds : std::nullopt);
  return seconds;
}

bool Experiment::affordable(std::size_t index, double elapsed_s) const {
  if (!options_.budget_s) return true;
  const auto next = seconds_for_run(plan_, seconds(), index);
  return !next || elapsed_s + *next <= *options_.budget_s;
}

std::vector<LaunchRecord> Experiment::launches() const {
  std::vector<LaunchRecord> launches;
  for (const auto& spec : specs_)
    if (spec.done) launches.push_back(spec.launch);
  return launches;
}

}  // namespace tandem

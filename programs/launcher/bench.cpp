#include "launcher/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "bench/bench_record.h"
#include "bench/bench_tables.h"
#include "core/error.h"
#include "doctor/doctor_report.h"
#include "doctor/surroundings.h"
#include "environment/environment.h"
#include "launcher/child_process.h"
#include "launcher/launch.h"
#include "launcher/link_choice.h"
#include "launcher/machine.h"
#include "launcher/mpirun_line.h"
#include "launcher/result_folder.h"
#include "launcher/run_plan.h"
#include "machine/host_probe.h"
#include "machine/machine_json.h"
#include "report/atomic_file.h"
#include "report/progress.h"
#include "report/run_record.h"
#include "run_config/run_config.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMiB = 1 << 20;
constexpr const char* kAllDefaults = "{}\n";

// One row of the result: a link with what is set beside it.
struct Setting {
  std::string label;
  std::vector<std::string> overrides;
};

// The plain links first: the first two are the ones whose ratio is shown.
std::vector<Setting> settings_of(const std::vector<LinkChoice>& links, const BenchOptions& options) {
  std::vector<Setting> settings;
  for (const auto& link : links) {
    settings.push_back({.label = link.label, .overrides = options.overrides});
    auto& overrides = settings.back().overrides;
    overrides.insert(overrides.end(), link.overrides.begin(), link.overrides.end());
  }
  for (const auto& variant : options.variants) {
    for (std::size_t link = 0; link < links.size(); ++link) {
      auto setting = settings[link];
      setting.label += ' ' + variant;
      setting.overrides.push_back(variant);
      settings.push_back(std::move(setting));
    }
  }
  return settings;
}

// "tcp@1gbit comm.max_ctas=4" as part of a path.
std::string folder_name(std::string label) {
  std::ranges::replace(label, ' ', '-');
  std::ranges::replace(label, '/', '-');
  return label;
}

// GPUs that the probe can use: none where the programs are built without CUDA.
std::size_t usable_gpus(const fs::path& probe) {
  constexpr std::chrono::seconds kLimit{30};
  if (!gpus_may_be_here()) return 0;
  const auto facts = read_probe_facts(output_within({probe.string(), "facts"}, kLimit).text);
  if (!facts || !facts->cuda_built) return 0;
  const auto seen = output_within({probe.string(), "machine"}, kLimit);
  if (seen.exit_status != 0) return 0;
  return machine_from_json(seen.text, "probe machine").hosts.front().gpus.size();
}

bool runs_on_cpus(const BenchOptions& options) {
  return std::ranges::find(options.overrides, "device.kind=cpu") != options.overrides.end();
}

class BenchJob {
 public:
  explicit BenchJob(const BenchOptions& options)
      : options_(options),
        gpus_(runs_on_cpus(options) ? 0 : usable_gpus(options.probe)),
        cores_(physical_cores()),
        ranks_(chosen_ranks()),
        settings_(settings_of(parse_links(chosen_links()), options)),
        plan_(interleaved_runs(settings_.size(), options.repeats)),
        out_(options.out.empty() ? fs::path("runs") / named_by_time("bench") : options.out) {
    if (ranks_ > 1) return;
    throw InputError({.what = "A link joins at least two ranks.",
                      .where = "--ranks",
                      .expected = "2 or more",
                      .found = fmt::format("{}", ranks_),
                      .advice = gpus_ == 1
                                    ? "with one GPU, measure CPU ranks: launcher bench --ranks 2 --links "
                                      "shm,tcp --set device.kind=cpu"
                                    : "launcher bench --ranks 2"});
  }

  int run() {
    refuse_far_too_many_ranks(ranks_, cores_, "this host");
    for (const auto& setting : settings_) parse_run_config(kAllDefaults, "bench", setting.overrides);
    require_open_mpi();
    warn_of_load();
    make_result_folder(out_);
    std::vector<std::vector<BenchRun>> runs(settings_.size());
    std::vector<double> finished;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      announce(i, finished);
      const auto start = std::chrono::steady_clock::now();
      runs[plan_[i].link].push_back(measure(plan_[i]));
      finished.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    const auto result = merge(runs);
    write(result);
    return std::ranges::any_of(result.links, has_wrong) ? 1 : 0;
  }

 private:
  // Numbers of a busy machine look like those of a slow link.
  void warn_of_load() const {
    Patient patient{.host = probe_host(), .around = look_around(all_environment_variables())};
    patient.around.ranks = ranks_;
    Findings findings;
    examine_load(patient, findings);
    fmt::print(stderr, "{}", findings_text(findings, Severity::Warning));
  }

  int chosen_ranks() const {
    if (options_.ranks > 0) return options_.ranks;
    return gpus_ > 0 ? static_cast<int>(gpus_) : cores_;
  }

  std::vector<std::string> chosen_links() const {
    if (!options_.links.empty()) return options_.links;
    if (gpus_ > 0) return {"nvlink", "pcie"};
    return {"shm", "tcp", "paced"};
  }

  std::int64_t max_bytes() const {
    if (options_.max_bytes > 0) return std::max<std::int64_t>(8, options_.max_bytes / 4 * 4);  // whole floats
    return gpus_ > 0 ? 1024 * kMiB : 32 * kMiB;
  }

  void announce(std::size_t index, const std::vector<double>& finished) const {
    std::string line = fmt::format("run {} of {}: {}, repeat {}", index + 1, plan_.size(),
                                   settings_[plan_[index].link].label, plan_[index].repeat);
    if (const auto left = seconds_for_rest(plan_, finished))
      line += fmt::format("; about {} left", format_duration(*left));
    fmt::print(stderr, "{}\n", line);
  }

  std::vector<std::string> command(const Setting& setting, const fs::path& folder) const {
    std::vector<std::string> program = {options_.probe.string(),
                                        "link",
                                        "--out",
                                        folder.string(),
                                        "--max-bytes",
                                        fmt::format("{}", max_bytes()),
                                        "--factor",
                                        fmt::format("{}", options_.factor),
                                        "--seconds",
                                        fmt::format("{}", options_.seconds_per_point)};
    for (const auto& override : setting.overrides) program.insert(program.end(), {"--set", override});
    auto request = on_cores(ranks_, cores_);
    request.root = runs_as_root();
    request.extra = options_.mpirun_extra;
    request.program = std::move(program);
    return mpirun_line(request);
  }

  BenchRun measure(const PlannedRun& run) const {
    const auto& setting = settings_[run.link];
    const auto folder = out_ / folder_name(setting.label) / fmt::format("repeat-{}", run.repeat);
    make_result_folder(folder);
    const auto file = folder / "bench.json";
    std::error_code ignored;
    fs::remove(file, ignored);  // an earlier one must not pass for this run's; the rank replaces it anyway
    const auto log = folder / "log.txt";
    const auto ended = run_child({.command = command(setting, folder), .environment = {}, .log = log});
    constexpr int kSignalBase = 128;  // as shells say it
    if (ended.interrupted)
      throw RunFailed(
          fmt::format("The run of {} was interrupted by signal {}.", setting.label, *ended.interrupted),
          kSignalBase + *ended.interrupted);
    if (ended.exit_status != 0)
      throw RunFailed(fmt::format("The run of {} failed with exit status {}.\n  log: {}", setting.label,
                                  ended.exit_status, log.string()),
                      ended.exit_status);
    return read_bench_run(file);
  }

  BenchResult merge(const std::vector<std::vector<BenchRun>>& runs) const {
    const auto& first = runs.front().front();
    BenchResult result{.started = utc_timestamp(std::chrono::system_clock::now()),
                       .host = probe_host().name,
                       .device = first.device,
                       .ranks = ranks_,
                       .versions = first.versions};
    for (std::size_t i = 0; i < runs.size(); ++i)
      result.links.push_back(merge_repeats(settings_[i].label, settings_[i].overrides, runs[i]));
    if (gpus_ > 1) result.gpu_pairs = measure_gpu_pairs();
    return result;
  }

  std::vector<PeerTest> measure_gpu_pairs() const {
    const std::chrono::seconds limit(60 + 2 * static_cast<int>(gpus_ * gpus_));
    fmt::print(stderr, "copies between every pair of GPUs\n");
    const auto output = output_within({options_.probe.string(), "peers", "--all-ways"}, limit);
    const auto tested = read_peer_tests(output.text);
    if (!tested.unfinished.empty())
      throw RunFailed(
          fmt::format("The test of {} did not end; launcher doctor says more.", tested.unfinished), 1);
    return tested.peers;
  }

  static bool has_wrong(const BenchLink& link) {
    return std::ranges::any_of(link.points, [](const auto& point) { return point.wrong > 0; });
  }

  void write(const BenchResult& result) const {
    write_file_atomically(out_ / "bench.json", to_json(result));
    write_file_atomically(out_ / "bench.md", bench_markdown(result));
    write_file_atomically(out_ / "bench.csv", bench_csv(result));
    fmt::print("{}", bench_markdown(result));
    std::fflush(stdout);
    fmt::print(stderr, "\nTables: {}/bench.md, .csv, .json\n", out_.string());
  }

  const BenchOptions& options_;
  const std::size_t gpus_;
  const int cores_;
  const int ranks_;
  const std::vector<Setting> settings_;
  const std::vector<PlannedRun> plan_;
  const fs::path out_;
};

}  // namespace

int bench_command(const BenchOptions& options) {
  return BenchJob(options).run();
}

}  // namespace tandem

#include "launcher/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "core/error.h"
#include "launcher/experiment.h"
#include "launcher/gathering.h"
#include "launcher/link_choice.h"
#include "launcher/result_folder.h"
#include "page/compare_page.h"
#include "report/atomic_file.h"
#include "report/comparison.h"
#include "report/tables.h"
#include "run_config/run_config.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

fs::path new_folder(const ReportConfig& report) {
  return fs::path(report.dir) / named_by_time(report.name + "-compare");
}

void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

// One of the configs that are compared.
struct ComparedConfig {
  fs::path file;
  RunConfig config;    // with the overrides of all runs
  std::string folder;  // below the comparison's; empty if it is the only one
};

std::vector<ComparedConfig> find_configs(const CompareOptions& options) {
  std::vector<ComparedConfig> configs;
  for (const auto& name : options.configs) {
    const auto file = find_config(name, options.launch.config_directories);
    configs.push_back({.file = file, .config = load_run_config(file, options.overrides)});
    if (options.configs.size() > 1) configs.back().folder = file.stem().string();
    const auto fail = [&](const char* what, const char* where, std::string expected, std::string found) {
      throw InputError({.what = what,
                        .where = where,
                        .expected = std::move(expected),
                        .found = std::move(found),
                        .advice = "compare them in two calls"});
    };
    const auto& first = configs.front();
    if (std::ranges::count(configs, configs.back().folder, &ComparedConfig::folder) > 1)
      fail("Two configs have the same name.", "--config", "files with different names", name);
    if (configs.back().config.device != first.config.device)
      fail("Configs for different devices cannot be started alike.", "device",
           config_value(first.config, "device.kind"), config_value(configs.back().config, "device.kind"));
  }
  return configs;
}

std::map<std::string, Spread> clocks_of(const std::vector<LaunchRecord>& launches) {
  std::map<std::string, std::vector<double>> by_device;
  for (const auto& launch : launches)
    for (const auto* clocks : {&launch.clocks_before, &launch.clocks_after})
      for (const auto& [device, mhz] : *clocks) by_device[device].push_back(mhz);
  std::map<std::string, Spread> spreads;
  for (const auto& [device, mhz] : by_device)
    spreads[device] = spread_of(*statistics_of(std::span<const double>(mhz)));
  return spreads;
}

LaunchOptions with_config(LaunchOptions launch, const std::string& config) {
  launch.config = config;
  return launch;
}

// An emulated link has one rank, which waits as long as the link's model says.
CompareOptions with_emulation(CompareOptions options) {
  if (options.emulate_ranks == 0) return options;
  options.launch.ranks = 1;
  append(options.overrides,
         {"comm.backend=emulated", fmt::format("comm.emulate_ranks={}", options.emulate_ranks)});
  return options;
}

class Comparison {
 public:
  explicit Comparison(const CompareOptions& options)
      : options_(options),
        configs_(find_configs(options)),
        links_(parse_links(options.links)),
        launch_(
            prepare_launch(with_config(options.launch, configs_.front().file.string()), options.overrides)),
        out_(options.out.empty() ? new_folder(configs_.front().config.report) : options.out),
        timing_(experiment(timing_cells(), options.repeats)) {
    if (options.accuracy_run) accuracy_.emplace(experiment(accuracy_cells(), 1));
  }

  void run() {
    check_gpus(options_.launch, launch_, configs_.front().config);
    make_result_folder(out_);
    const FolderLock lock(out_);
    timing_.run();
    auto text = write();
    if (accuracy_) {
      accuracy_->run();
      text = write();
    }
    fmt::print("{}", text);
    std::fflush(stdout);
    const auto below = configs_.size() > 1 ? "/*" : "";
    fmt::print(
        stderr,
        "\nTables: {0}{1}/compare.html, .md, .csv, .json; run records: {0}{1}/*/repeat-*/record.json\n",
        out_.string(), below);
  }

 private:
  Experiment experiment(std::vector<ExperimentCell> cells, int repeats) const {
    const auto timing_runs = static_cast<int>(configs_.size() * links_.size()) * options_.repeats;
    const auto accuracy_runs = options_.accuracy_run ? static_cast<int>(configs_.size()) : 0;
    const bool timing = !cells.front().single;
    return Experiment({.launch = launch_,
                       .repeats = repeats,
                       .out = out_,
                       .fresh = options_.fresh,
                       .runs_before = timing ? 0 : timing_runs,
                       .runs_after = timing ? accuracy_runs : 0,
                       .afterwards = timing && accuracy_runs > 0 ? ", then the accuracy run" : ""},
                      std::move(cells));
  }

  // By config, then by link.
  std::vector<ExperimentCell> timing_cells() const {
    std::vector<ExperimentCell> cells;
    for (const auto& config : configs_) {
      for (const auto& link : links_) {
        ExperimentCell cell{.label = config.folder.empty() ? link.label : config.folder + ", " + link.label,
                            .folder = (fs::path(config.folder) / link.label).string(),
                            .config = config.file,
                            .overrides = options_.overrides};
        append(cell.overrides, link.overrides);
        cell.overrides.emplace_back("train.eval_every=0");
        cells.push_back(std::move(cell));
      }
    }
    return cells;
  }

  // --set may shorten the timing runs; what an accuracy is worth depends on the whole data.
  std::vector<ExperimentCell> accuracy_cells() const {
    std::vector<ExperimentCell> cells;
    for (const auto& config : configs_) {
      const auto label = fmt::format("{}{}accuracy run, {}", config.folder, config.folder.empty() ? "" : ", ",
                                     links_.front().label);
      ExperimentCell cell{.label = label,
                          .folder = (fs::path(config.folder) / "accuracy").string(),
                          .config = config.file,
                          .overrides = options_.overrides,
                          .single = true};
      append(cell.overrides, links_.front().overrides);
      append(cell.overrides, {"train.max_steps=0"});
      if (!config.config.data.is_synthetic()) append(cell.overrides, {"data.limit=0"});
      if (config.config.train.eval_every == 0) append(cell.overrides, {"train.eval_every=1"});
      append(cell.overrides, options_.accuracy_overrides);
      cells.push_back(std::move(cell));
    }
    return cells;
  }

  std::vector<ComparedLink> runs_of(std::size_t config) const {
    std::vector<ComparedLink> compared;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      ComparedLink link{.label = links_[i].label, .in_rounds = true};
      for (const auto& record : timing_.records(config * links_.size() + i)) {
        link.asked = record->link.asked;
        link.repeats.push_back(*record);
      }
      compared.push_back(std::move(link));
    }
    return compared;
  }

  std::optional<RunRecord> accuracy_of(std::size_t config) const {
    return accuracy_ ? accuracy_->records(config).front() : std::nullopt;
  }

  CompareResult result_of(const std::vector<ComparedLink>& compared, std::size_t config) const {
    auto result = build_comparison(compared, accuracy_of(config));
    result.clocks_mhz = clocks_of(timing_.launches());
    result.command_line = options_.command_line;
    return result;
  }

  // The text of all tables.
  std::string write() const {
    std::string text;
    for (std::size_t i = 0; i < configs_.size(); ++i) {
      const auto runs = runs_of(i);
      const auto result = result_of(runs, i);
      const auto folder = out_ / configs_[i].folder;
      const auto table = compare_markdown(result);
      write_comparison(result, folder / "compare.json");
      write_file_atomically(folder / "compare.md", table);
      write_file_atomically(folder / "compare.csv", compare_csv_table(result).csv());
      write_file_atomically(
          folder / "compare.html",
          compare_page(result, {.runs = runs_for_page(runs), .accuracy = accuracy_of(i), .diff = {}}));
      text += configs_.size() == 1
                  ? table
                  : fmt::format("{}## {}\n\n{}", i > 0 ? "\n" : "", configs_[i].folder, table);
    }
    return text;
  }

  const CompareOptions& options_;
  std::vector<ComparedConfig> configs_;
  std::vector<LinkChoice> links_;
  Launch launch_;
  fs::path out_;
  Experiment timing_;
  std::optional<Experiment> accuracy_;
};

}  // namespace

void compare_command(const CompareOptions& options) {
  TANDEM_EXPECT(options.repeats >= 1 && !options.configs.empty(), "{} repeats of {} configs", options.repeats,
                options.configs.size());
  const auto all = with_emulation(options);
  Comparison(all).run();
}

}  // namespace tandem

#include "launcher/sweep.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "core/error.h"
#include "launcher/experiment.h"
#include "launcher/gathering.h"
#include "launcher/result_folder.h"
#include "launcher/sweep_grid.h"
#include "page/sweep_page.h"
#include "report/atomic_file.h"
#include "report/sweep_result.h"
#include "run_config/run_config.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> keys_of(const std::vector<SweepAxis>& axes) {
  std::vector<std::string> keys;
  for (const auto& axis : axes) keys.push_back(axis.key);
  return keys;
}

// "comm.bucket_mb=4 comm.max_ctas=2" as one folder's name.
std::string folder_name(std::string label) {
  for (char& c : label)
    if (c == ' ' || c == '/') c = c == ' ' ? ',' : '-';
  return label;
}

class Sweep {
 public:
  explicit Sweep(const SweepOptions& options)
      : options_(options),
        launch_(prepare_launch(options.launch, options.overrides)),
        axes_(parse_axes(options.axes)),
        keys_(keys_of(axes_)),
        points_(grid_points(axes_)),
        repeats_(options.repeats),
        out_(folder(options)),
        experiment_({.launch = launch_,
                     .repeats = options.repeats,
                     .out = out_,
                     .fresh = options.fresh,
                     .keep_going = true,
                     .budget_s = options.budget_minutes > 0.0 ? std::optional(options.budget_minutes * 60.0)
                                                              : std::nullopt},
                    cells(options)) {}

  int run() {
    check_gpus(options_.launch, launch_, load_run_config(launch_.config, options_.overrides));
    make_result_folder(out_);
    const FolderLock lock(out_);
    std::optional<SweepResult> result;
    experiment_.run([&] { result = write(); });
    if (!experiment_.within_budget()) result = write();
    fmt::print("{}", sweep_markdown(*result));
    std::fflush(stdout);
    fmt::print(stderr, "\nTables: {}/sweep.html, .md, .csv, .json; run records: {}/*/repeat-*/record.json\n",
               out_.string(), out_.string());
    if (!experiment_.within_budget())
      fmt::print(stderr, "The budget is used up; the same command goes on where this one stopped.\n");
    for (std::size_t i = 0; i < points_.size(); ++i)
      if (!experiment_.failure(i).empty()) return 1;
    return 0;
  }

 private:
  fs::path folder(const SweepOptions& options) const {
    if (!options.out.empty()) return options.out;
    const auto report = load_run_config(launch_.config, options.overrides).report;
    return fs::path(report.dir) / (report.name + "-sweep");
  }

  std::vector<ExperimentCell> cells(const SweepOptions& options) const {
    std::vector<ExperimentCell> cells;
    for (const auto& point : points_) {
      const auto label = point_label(keys_, point);
      ExperimentCell cell{.label = label,
                          .folder = folder_name(label),
                          .config = launch_.config,
                          .overrides = options.overrides};
      for (std::size_t i = 0; i < keys_.size(); ++i) cell.overrides.push_back(keys_[i] + '=' + point[i]);
      cell.overrides.emplace_back("train.eval_every=0");
      cells.push_back(std::move(cell));
    }
    return cells;
  }

  SweepResult write() const {
    std::vector<SweptPoint> swept;
    for (std::size_t i = 0; i < points_.size(); ++i)
      swept.push_back(
          {.values = points_[i], .rounds = experiment_.records(i), .failure = experiment_.failure(i)});
    auto result = build_sweep(keys_, swept, repeats_);
    write_sweep(result, out_ / "sweep.json");
    write_file_atomically(out_ / "sweep.md", sweep_markdown(result));
    write_file_atomically(out_ / "sweep.csv", sweep_csv_table(result).csv());
    write_file_atomically(out_ / "sweep.html", sweep_page(result));
    return result;
  }

  const SweepOptions& options_;
  Launch launch_;
  std::vector<SweepAxis> axes_;
  std::vector<std::string> keys_;
  std::vector<std::vector<std::string>> points_;
  int repeats_;
  fs::path out_;
  Experiment experiment_;
};

}  // namespace

int sweep_command(const SweepOptions& options) {
  TANDEM_EXPECT(options.repeats >= 1, "{} repeats", options.repeats);
  return Sweep(options).run();
}

}  // namespace tandem

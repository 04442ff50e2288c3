#include "launcher/run.h"

#include <fmt/format.h>

#include <cstdio>

#include "core/error.h"
#include "environment/error_report.h"
#include "environment/shell_quoting.h"
#include "launcher/experiment.h"
#include "launcher/gathering.h"
#include "launcher/recorded_run.h"
#include "launcher/result_folder.h"
#include "launcher/run_identity.h"
#include "launcher/slurm.h"
#include "report/atomic_file.h"
#include "run_config/run_config.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

void show(const Launch& launch, const std::vector<std::string>& command, std::FILE* to) {
  for (const auto& line : describe_placement(launch)) fmt::print(to, "# {}\n", line);
  fmt::print(to, "{}\n", shell_quoted(command));
}

void show_files(const Launch& launch, const fs::path& folder) {
  for (const auto& [name, text] : launch_files(launch))
    fmt::print("\n# {}:\n{}", (folder / name).string(), text);
}

int leave_batch_script(const RunOptions& options, const Launch& launch, const fs::path& folder) {
  const auto name = fs::path(launch.config).stem().string();
  const auto script = sbatch_script({.job = slurm_job(launch, options.overrides, folder),
                                     .name = name,
                                     .folder = folder,
                                     .working_folder = fs::current_path(),
                                     .minutes = options.minutes});
  make_result_folder(folder);  // Slurm ends a job without a word if the folder of its log is not there
  write_file_atomically(options.sbatch, script);
  fmt::print("{}\n# written to {}; start it with: sbatch {}\n", script, options.sbatch.string(),
             shell_quoted(std::vector<std::string>{options.sbatch.string()}));
  return 0;
}

void require_plan_only(const RunOptions& options) {
  if (options.launch.machine.empty() || options.dry_run || !options.sbatch.empty()) return;
  throw InputError({.what = "Ranks cannot be started on a machine that is only described.",
                    .where = "--machine",
                    .expected = "--dry-run or --sbatch beside it",
                    .found = "neither",
                    .advice = "add --dry-run to see the plan"});
}

}  // namespace

int run_command(const RunOptions& options) {
  require_plan_only(options);
  const Launch launch = prepare_launch(options.launch, options.overrides);
  // Reading it here tells of a mistake once, before ranks are started.
  const auto config = load_run_config(launch.config, options.overrides);
  resolve_batch(config.train, launch.ranks);
  const fs::path folder =
      options.out.empty() ? fs::path(config.report.dir) / config.report.name : options.out;
  if (!options.sbatch.empty()) return leave_batch_script(options, launch, folder);

  const auto command = launch_command(launch, options.overrides, folder);
  show(launch, command, options.dry_run ? stdout : stderr);
  if (options.dry_run) {
    show_files(launch, folder);
    return 0;
  }
  check_gpus(options.launch, launch, config);
  make_result_folder(folder);
  const FolderLock lock(folder);
  write_launch_files(launch, folder);
  const auto outcome = run_recorded({.title = config.report.name,
                                     .command = command,
                                     .identity = run_identity(launch, options.overrides),
                                     .folder = folder,
                                     .show_output = true});
  if (outcome.launch.state == LaunchRecord::kFinished) {
    gather_results(launch, folder);
    return 0;
  }
  // What was wrong with the input has been said in full.
  if (outcome.ended.exit_status == kInputErrorStatus && !outcome.ended.interrupted) return kInputErrorStatus;
  throw RunFailed(fmt::format("The run {}.\n  {:<9} {}", how_it_ended(outcome.ended),
                              "log:", (folder / "log.txt").string()),
                  exit_status_for(outcome.ended));
}

}  // namespace tandem

// trainer: one rank of a data-parallel training run.
//
//   ./trainer --config fashion_resnet.yaml                    one rank
//   mpirun -np 2 ./trainer --config fashion_resnet.yaml       two
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "comm/mpi_session.h"
#include "comm/termination_signal.h"
#include "core/error.h"
#include "environment/environment.h"
#include "environment/error_report.h"
#include "environment/shell_quoting.h"
#include "environment/standard_streams.h"
#include "trainer/failure_report.h"
#include "trainer/job_setup.h"
#include "trainer/link_setup.h"
#include "trainer/rank_environment.h"
#include "trainer/tandem_version.h"
#include "trainer/training_program.h"

namespace tandem {
namespace {

int run_launched(const TrainingRequest& request, const TerminationSignal& termination) {
  const MpiSession session(comm_options(request.config.comm).watchdog.timeout);
  request.startup->finish("MPI init");
  const auto& identity = session.identity();
  try {
    run_training(request, &session, termination);
    return 0;
  } catch (...) {
    session.abort(report_failure(identity.rank.value, identity.host, termination));
  }
}

struct Arguments {
  std::string config;
  std::vector<std::string> overrides;
  std::string out;
};

std::filesystem::path run_path(const Arguments& arguments, const ReportConfig& report) {
  if (!arguments.out.empty()) return arguments.out;
  return std::filesystem::path(report.dir) / report.name;
}

int run(const Arguments& arguments, const std::string& command_line) {
  StartupClock startup;
  const TerminationSignal termination;
  const auto variables = all_environment_variables();
  const auto job = read_rank_environment(variables);
  try {
    const auto file = find_config(arguments.config, config_directories());
    TrainingRequest request{.config = load_run_config(file, arguments.overrides),
                            .job = job,
                            .command_line = command_line,
                            .startup = &startup};
    const auto path = run_path(arguments, request.config.report);
    std::optional<RunFolder> folder;
    if (job.rank == 0) request.folder = &folder.emplace(path);
    request.nccl = choose_links(request.config, job, path, variables);
    startup.finish("configuration and choice of links");
    if (job.launched) return run_launched(request, termination);
    run_training(request, nullptr, termination);
    return 0;
  } catch (...) {
    return report_failure(job.rank, "this host", termination);
  }
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  tandem::open_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a reader of the log that goes away must not end hours of training
  CLI::App app("Trains a model on one rank, or as one of the ranks that mpirun or srun started.");
  tandem::Arguments arguments;
  bool help_config = false;
  app.add_option("--config", arguments.config,
                 "YAML file; looked for here, in configs/ and among the installed ones");
  app.add_option("--set", arguments.overrides, "override one key, such as optim.lr=0.4; may be given again")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--out", arguments.out, "directory for the record (default: report.dir/report.name)");
  app.add_flag("--help-config", help_config, "print every configuration key with its default and meaning");
  app.set_version_flag("--version", std::string(tandem::kTandemVersion));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    tandem::print_error(std::string(error.what()) + "; ./trainer --help shows how to call it");
    return tandem::kInputErrorStatus;
  }
  if (help_config) {
    std::fputs(tandem::config_reference_markdown().c_str(), stdout);
    return 0;
  }
  if (arguments.config.empty()) {
    tandem::print_error("--config is missing; ./trainer --help shows how to call it");
    return tandem::kInputErrorStatus;
  }
  return tandem::run(arguments, tandem::shell_quoted(std::vector<std::string>(argv, argv + argc)));
}

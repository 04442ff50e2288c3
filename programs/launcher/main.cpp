// launcher: starts the trainer's ranks, compares links, sweeps over keys, shows results. One file per
// subcommand.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "core/error.h"
#include "environment/environment.h"
#include "environment/error_report.h"
#include "environment/shell_quoting.h"
#include "environment/standard_streams.h"
#include "launcher/command_line.h"
#include "launcher/machine.h"
#include "launcher/remote_guard.h"

namespace tandem {
namespace {

void locate(LaunchOptions& launch) {
  launch.trainer = executable_path().parent_path() / "trainer";
  launch.probe = internal_program("probe");
  launch.config_directories = config_directories();
}

int execute(RunOptions options) {
  locate(options.launch);
  return run_command(options);
}

int execute(CompareOptions options) {
  locate(options.launch);
  compare_command(options);
  return 0;
}

int execute(SweepOptions options) {
  locate(options.launch);
  return sweep_command(options);
}

int execute(const MachineOptions& /*options*/) {
  fmt::print("{}", machine_as_json());
  return 0;
}

int execute(const AgentOptions& options) {
  run_agent(options.arguments);
}

int execute(const GuardOptions& options) {
  return run_guard(options.command);
}

int execute(const ReportOptions& options) {
  fmt::print("{}", render_report(options.inputs, options.format));
  return 0;
}

int execute(DoctorOptions options) {
  options.probe = internal_program("probe");
  return doctor_command(options);
}

int execute(BenchOptions options) {
  options.probe = internal_program("probe");
  return bench_command(options);
}

int execute(const ShowText& show) {
  fmt::print("{}", show.text);
  return 0;
}

int guarded_main(const std::vector<std::string>& arguments) {
  try {
    auto command = parse_command_line(arguments);
    if (auto* compare = std::get_if<CompareOptions>(&command)) {
      std::vector<std::string> words = {"./launcher"};
      words.insert(words.end(), arguments.begin(), arguments.end());
      compare->command_line = shell_quoted(words);
    }
    const int status = std::visit([](auto chosen) { return execute(std::move(chosen)); }, std::move(command));
    finish_standard_output();
    return status;
  } catch (const RunFailed& error) {
    print_error(error.what());
    return error.exit_status();
  } catch (...) {
    return report_exception();
  }
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  tandem::open_standard_streams();
  return tandem::guarded_main(std::vector<std::string>(argv + 1, argv + argc));
}

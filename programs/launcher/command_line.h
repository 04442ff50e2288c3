// The launcher's command line: from arguments to the subcommand's options.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "launcher/bench.h"
#include "launcher/compare.h"
#include "launcher/doctor.h"
#include "launcher/report.h"
#include "launcher/run.h"
#include "launcher/sweep.h"

namespace tandem {

struct ReportOptions {
  std::vector<std::filesystem::path> inputs;
  ReportFormat format = ReportFormat::Markdown;
};

struct MachineOptions {};

struct AgentOptions {  // see remote_guard.h
  std::vector<std::string> arguments;
};

struct GuardOptions {
  std::string command;
};

struct ShowText {  // --help and --version
  std::string text;
};

using Command = std::variant<RunOptions, CompareOptions, SweepOptions, ReportOptions, DoctorOptions,
                             BenchOptions, MachineOptions, AgentOptions, GuardOptions, ShowText>;

// `arguments` without the program's name. LaunchOptions' trainer and config_directories are left to the
// caller. Throws InputError for what is not understood.
Command parse_command_line(const std::vector<std::string>& arguments);

}  // namespace tandem

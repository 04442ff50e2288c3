// The prose of --help: what follows a subcommand's options. The manual pages hold the same.
#pragma once

#include <string>

namespace tandem {

inline constexpr const char* kExitStatus =
    "Exit status:\n"
    "  0      done\n"
    "  1      a run failed, or the program did\n"
    "  2      something about the input is wrong; nothing was started\n"
    "  75     a rank waited longer than comm.timeout_s\n"
    "  128+N  ended by signal N (130: Ctrl-C)";

std::string launcher_help();
std::string run_help();
std::string compare_help();
std::string sweep_help();
std::string report_help();
std::string doctor_help();
std::string bench_help();
std::string machine_help();

}  // namespace tandem

// `launcher doctor`: what is wrong with this machine, before a run shows it by being slow, hanging or lying.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "doctor/rules.h"

namespace tandem {

struct DoctorOptions {
  int ranks = 0;                  // of the job that is asked about; 0: one per GPU, or per core without GPUs
  bool all_ways = false;          // bandwidth both ways and by kernels, too
  bool json = false;              // on standard output instead of the page
  std::filesystem::path machine;  // judge this file instead of this machine; nothing is tested then
  std::vector<std::string> mpirun_extra;
  std::filesystem::path probe;  // the program that starts as ranks
};

// Examines, starts ranks, tests every pair of GPUs with data, prints, and returns the exit status
// (finding.h). Everything that could hang runs in a child with a time limit. Throws InputError for a machine
// file that cannot be read.
int doctor_command(const DoctorOptions& options);

// The short form: facts and rules, no tests, for the moment before ranks start on GPUs; nothing where no
// driver is loaded. Prints warnings and failures on standard error. Throws InputError, naming the first, if
// there is a failure.
void require_healthy_gpus(int ranks, const std::filesystem::path& probe);

}  // namespace tandem

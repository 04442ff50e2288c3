#include "launcher/clocks.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "launcher/machine.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

double mean_scaling_mhz() {
  double sum = 0.0;
  int cores = 0;
  std::error_code ignored;  // no such directory: nothing is known
  for (const auto& entry : fs::directory_iterator("/sys/devices/system/cpu", ignored)) {
    std::ifstream file(entry.path() / "cpufreq" / "scaling_cur_freq");
    double khz = 0.0;
    if (!(file >> khz)) continue;
    sum += khz * 1e-3;
    ++cores;
  }
  return cores > 0 ? sum / cores : 0.0;
}

}  // namespace

double mean_cpuinfo_mhz(const std::string& cpuinfo) {
  std::istringstream lines(cpuinfo);
  double sum = 0.0;
  int cores = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("cpu MHz")) continue;
    const auto colon = line.find(':');
    double mhz = 0.0;
    if (colon == std::string::npos || !(std::istringstream(line.substr(colon + 1)) >> mhz)) continue;
    sum += mhz;
    ++cores;
  }
  return cores > 0 ? sum / cores : 0.0;
}

std::map<std::string, double> clocks_mhz() {
  double processor = mean_scaling_mhz();
  if (processor == 0.0) {
    std::ifstream file("/proc/cpuinfo");
    std::stringstream text;
    text << file.rdbuf();
    processor = mean_cpuinfo_mhz(text.str());
  }
  std::map<std::string, double> clocks;
  if (processor > 0.0) clocks["processor"] = processor;
  for (const auto& gpu : this_host().gpus)
    if (gpu.state.sm_clock_mhz) clocks[fmt::format("GPU {}", gpu.index)] = *gpu.state.sm_clock_mhz;
  return clocks;
}

}  // namespace tandem

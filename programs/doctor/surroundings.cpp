#include "doctor/surroundings.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "core/error.h"
#include "report/atomic_file.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

using Variables = std::map<std::string, std::string>;

bool matters(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kPrefixes = {"CUDA_", "NCCL_", "OMPI_MCA_", "PMIX_MCA_",
                                                                "SLURM_"};
  static constexpr std::array<std::string_view, 5> kNames = {
      "LD_LIBRARY_PATH", "LD_PRELOAD", "OMP_NUM_THREADS", "NVIDIA_VISIBLE_DEVICES", "GOMP_CPU_AFFINITY"};
  return std::ranges::any_of(kPrefixes, [name](auto prefix) { return name.starts_with(prefix); }) ||
         std::ranges::find(kNames, name) != kNames.end();
}

std::string trimmed(const std::string& text) {
  constexpr auto kBlank = " \t\r";
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::optional<std::int64_t> soft_limit(decltype(RLIMIT_NOFILE) which) {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

void look_at_shared_memory(Surroundings& around) {
  struct statvfs system {};
  if (statvfs("/dev/shm", &system) != 0) return;
  const auto block = static_cast<std::int64_t>(system.f_frsize);
  around.shm_bytes = static_cast<std::int64_t>(system.f_blocks) * block;
  around.shm_free_bytes = static_cast<std::int64_t>(system.f_bavail) * block;
}

bool has_entries(const fs::path& folder) {
  std::error_code missing;
  return fs::directory_iterator(folder, missing) != fs::directory_iterator();
}

std::string value_of(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

void add_file(const fs::path& path, std::vector<NcclFile>& files) {
  std::error_code missing;
  if (!fs::is_regular_file(path, missing) || access(path.c_str(), R_OK) != 0) return;
  auto settings = nccl_settings(read_file(path));
  if (!settings.empty()) files.push_back({.path = path.string(), .settings = std::move(settings)});
}

// In the order in which Open MPI asks for them.
fs::path temp_folder(const Variables& variables) {
  for (const auto* name : {"TMPDIR", "TEMP", "TMP"})
    if (auto value = value_of(variables, name); !value.empty()) return value;
  return "/tmp";
}

std::vector<std::string> bridges() {
  std::vector<std::string> names;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return names;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, freeifaddrs);
  for (const auto* port = first; port != nullptr; port = port->ifa_next) {
    const bool has_address = port->ifa_addr != nullptr && port->ifa_addr->sa_family == AF_INET;
    std::error_code missing;
    if (has_address && (port->ifa_flags & IFF_UP) != 0 &&
        fs::exists(fs::path("/sys/class/net") / port->ifa_name / "bridge", missing) &&
        std::ranges::find(names, port->ifa_name) == names.end())
      names.emplace_back(port->ifa_name);
  }
  return names;
}

// A cache that cannot be read is none: the run that needs it says so.
std::vector<std::string> planned_gpus(const fs::path& cache) {
  std::vector<std::string> sections;
  std::error_code missing;
  if (!fs::is_regular_file(cache, missing) || access(cache.c_str(), R_OK) != 0) return sections;
  const auto json = nlohmann::json::parse(read_file(cache), nullptr, false);
  if (!json.is_object() || !json.contains("sections") || !json["sections"].is_object()) return sections;
  for (const auto& [section, plans] : json["sections"].items()) sections.push_back(section);
  return sections;
}

}  // namespace

std::string fault_of_folder(fs::path folder) {
  constexpr std::uint64_t kEnough = 1 << 20;
  std::error_code missing;
  while (!fs::exists(folder, missing) && folder.has_relative_path()) folder = folder.parent_path();
  if (access(folder.c_str(), W_OK | X_OK) != 0) return std::strerror(errno);
  struct statvfs system {};
  if (statvfs(folder.c_str(), &system) != 0) return std::strerror(errno);
  const auto free = static_cast<std::uint64_t>(system.f_bavail) * system.f_frsize;
  return free < kEnough ? fmt::format("{} KiB free", free / 1024) : "";
}

Surroundings look_around(const Variables& variables) {
  Surroundings around;
  for (const auto& [name, value] : variables)
    if (matters(name)) around.variables[name] = value;
  around.nccl_files = nccl_files(variables);
  look_at_shared_memory(around);
  around.locked_memory_bytes = soft_limit(RLIMIT_MEMLOCK);
  around.open_files = soft_limit(RLIMIT_NOFILE);
  if (double load = 0; getloadavg(&load, 1) == 1) around.load = load;
  around.temp_folder = temp_folder(variables).string();
  around.temp_folder_fault = fault_of_folder(around.temp_folder);
  around.bridges = bridges();
  around.planned_gpus = planned_gpus("runs/cuda_plans.json");
  around.iommu = has_entries("/sys/class/iommu");
  return around;
}

std::vector<NcclFile> nccl_files(const Variables& variables) {
  std::vector<NcclFile> files;
  const auto named = value_of(variables, "NCCL_CONF_FILE");
  const auto home = value_of(variables, "HOME");
  if (!named.empty()) {
    add_file(named, files);
  } else if (!home.empty()) {
    add_file(fs::path(home) / ".nccl.conf", files);
  }
  add_file("/etc/nccl.conf", files);
  return files;
}

std::vector<std::string> nccl_settings(std::string_view text) {
  std::vector<std::string> settings;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.find('=') != std::string::npos) settings.push_back(line);
  }
  return settings;
}

fs::path find_on_path(const std::string& name, const Variables& variables) {
  std::istringstream folders(value_of(variables, "PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    auto file = fs::path(folder) / name;
    std::error_code missing;
    if (fs::is_regular_file(file, missing) && access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

bool gpus_may_be_here() {
  std::error_code ignored;
  return fs::exists("/proc/driver/nvidia/version", ignored) || fs::exists("/dev/nvidiactl", ignored) ||
         fs::exists("/dev/dxg", ignored);  // Windows' subsystem for Linux
}

}  // namespace tandem

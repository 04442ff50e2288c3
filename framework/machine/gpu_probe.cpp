#include "machine/gpu_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "machine/host_probe.h"
#include "machine/nvml_library.h"

namespace tandem {
namespace {

using nvml::Device;
using nvml::Library;

constexpr std::size_t kTextBytes = 96;  // NVML's longest: a name or a UUID of version 2

std::string address_text(const nvml::PciInfo& info) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device);
}

// Reads one GPU. Whatever the driver refuses to tell stays without value.
class GpuReader {
 public:
  GpuReader(const Library& library, Device device) : nvml_(library), device_(device) {}

  Gpu read(int index) const {
    Gpu gpu{.index = index, .name = text("nvmlDeviceGetName"), .uuid = text("nvmlDeviceGetUUID")};
    nvml::PciInfo pci{};
    if (nvml_.ask("nvmlDeviceGetPciInfo_v3", device_, &pci)) {
      gpu.pci = address_text(pci);
      gpu.numa = numa_node_of_pci(gpu.pci);
      gpu.pci_route = pci_route(gpu.pci);
    }
    gpu.pcie = {.generation = number("nvmlDeviceGetCurrPcieLinkGeneration"),
                .max_generation = number("nvmlDeviceGetMaxPcieLinkGeneration"),
                .width = number("nvmlDeviceGetCurrPcieLinkWidth"),
                .max_width = number("nvmlDeviceGetMaxPcieLinkWidth")};
    read_modes(gpu);
    gpu.state = read_state();
    nvml::Memory memory{};
    if (nvml_.ask("nvmlDeviceGetMemoryInfo", device_, &memory)) {
      gpu.memory_bytes = static_cast<std::int64_t>(memory.total);
      gpu.state.memory_used_bytes = static_cast<std::int64_t>(memory.used);
    }
    for (unsigned link = 0; link < nvml::kMaxLinks; ++link)
      if (auto found = read_nvlink(link)) gpu.nvlinks.push_back(std::move(*found));
    gpu.processes = read_processes();
    return gpu;
  }

 private:
  std::string text(const char* function) const {
    std::array<char, kTextBytes> buffer{};
    return nvml_.ask(function, device_, buffer.data(), static_cast<unsigned>(buffer.size())) ? buffer.data()
                                                                                             : "";
  }

  template <class... Arguments>
  std::optional<int> number(const char* function, Arguments... arguments) const {
    unsigned value = 0;
    if (!nvml_.ask(function, device_, arguments..., &value)) return std::nullopt;
    return static_cast<int>(value);
  }

  std::optional<double> watts(const char* function) const {
    constexpr double kMilliwatts = 1e3;
    const auto value = number(function);
    return value ? std::optional(*value / kMilliwatts) : std::nullopt;
  }

  void read_modes(Gpu& gpu) const {
    unsigned now = 0;
    unsigned after_reset = 0;
    if (nvml_.ask("nvmlDeviceGetEccMode", device_, &now, &after_reset)) gpu.ecc = now != 0;
    if (nvml_.ask("nvmlDeviceGetMigMode", device_, &now, &after_reset)) gpu.mig = now != 0;
    constexpr int kUncorrected = 1;
    constexpr int kSinceDriverLoad = 0;
    unsigned long long errors = 0;
    if (nvml_.ask("nvmlDeviceGetTotalEccErrors", device_, kUncorrected, kSinceDriverLoad, &errors))
      gpu.uncorrected_ecc_errors = static_cast<std::int64_t>(errors);
  }

  GpuState read_state() const {
    constexpr int kSm = 1;
    constexpr int kMemory = 2;
    constexpr int kGpuSensor = 0;
    constexpr int kSlowdownThreshold = 1;
    return {.sm_clock_mhz = number("nvmlDeviceGetClockInfo", kSm),
            .max_sm_clock_mhz = number("nvmlDeviceGetMaxClockInfo", kSm),
            .memory_clock_mhz = number("nvmlDeviceGetClockInfo", kMemory),
            .max_memory_clock_mhz = number("nvmlDeviceGetMaxClockInfo", kMemory),
            .throttle_reasons = read_throttle_reasons(),
            .temperature_c = number("nvmlDeviceGetTemperature", kGpuSensor),
            .slowdown_temperature_c = number("nvmlDeviceGetTemperatureThreshold", kSlowdownThreshold),
            .power_w = watts("nvmlDeviceGetPowerUsage"),
            .power_limit_w = watts("nvmlDeviceGetEnforcedPowerLimit"),
            .default_power_limit_w = watts("nvmlDeviceGetPowerManagementDefaultLimit")};
  }

  // Bit 0, "the GPU is idle", is left out: it slows nothing down.
  std::vector<std::string> read_throttle_reasons() const {
    static constexpr std::array<std::pair<unsigned long long, const char*>, 8> kReasons = {{
        {0x002, "application clocks"},
        {0x004, "power cap"},
        {0x008, "hardware slowdown"},
        {0x010, "sync boost"},
        {0x020, "thermal slowdown (software)"},
        {0x040, "thermal slowdown (hardware)"},
        {0x080, "power brake"},
        {0x100, "display clocks"},
    }};
    unsigned long long bits = 0;
    if (!nvml_.ask("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &bits)) return {};
    std::vector<std::string> reasons;
    for (const auto& [bit, name] : kReasons)
      if ((bits & bit) != 0) reasons.emplace_back(name);
    return reasons;
  }

  std::optional<NvLink> read_nvlink(unsigned link) const {
    unsigned state = 0;
    if (!nvml_.ask("nvmlDeviceGetNvLinkState", device_, link, &state)) return std::nullopt;
    NvLink found{.index = static_cast<int>(link), .active = state != 0};
    // The driver counts 1, 2, 2.2, 3, 3.1, 4, 5, 6 from 1 on.
    static constexpr std::array kGenerations = {0, 1, 2, 2, 3, 3, 4, 5, 6};
    if (const auto version = number("nvmlDeviceGetNvLinkVersion", link);
        version && *version > 0 && *version < static_cast<int>(kGenerations.size()))
      found.generation = kGenerations[static_cast<std::size_t>(*version)];
    nvml::PciInfo remote{};
    if (nvml_.ask("nvmlDeviceGetNvLinkRemotePciInfo_v2", device_, link, &remote))
      found.remote_pci = address_text(remote);
    if (const auto kind = number("nvmlDeviceGetNvLinkRemoteDeviceType", link)) {
      if (*kind == 0) found.remote_kind = "gpu";
      if (*kind == 2) found.remote_kind = "switch";
    }
    constexpr int kReplay = 0;
    constexpr int kRecovery = 1;
    constexpr int kCrcFlit = 2;
    found.replay_errors = link_errors(link, kReplay);
    found.recovery_errors = link_errors(link, kRecovery);
    found.crc_errors = link_errors(link, kCrcFlit);
    return found;
  }

  std::optional<std::int64_t> link_errors(unsigned link, int counter) const {
    unsigned long long count = 0;
    if (!nvml_.ask("nvmlDeviceGetNvLinkErrorCounter", device_, link, counter, &count)) return std::nullopt;
    return static_cast<std::int64_t>(count);
  }

  std::vector<GpuProcess> read_processes() const {
    std::array<nvml::Process, 64> found{};  // more than that on one GPU is no different from 64
    auto count = static_cast<unsigned>(found.size());
    if (!nvml_.ask("nvmlDeviceGetComputeRunningProcesses_v3", device_, &count, found.data())) return {};
    std::vector<GpuProcess> processes;
    for (unsigned i = 0; i < std::min<std::size_t>(count, found.size()); ++i) {
      GpuProcess process{.pid = static_cast<int>(found[i].pid)};
      std::array<char, kTextBytes> name{};
      if (nvml_.ask("nvmlSystemGetProcessName", found[i].pid, name.data(),
                    static_cast<unsigned>(name.size())))
        process.name = name.data();
      constexpr auto kNotAvailable = ~0ULL;
      if (found[i].used_bytes != kNotAvailable)
        process.memory_bytes = static_cast<std::int64_t>(found[i].used_bytes);
      processes.push_back(std::move(process));
    }
    return processes;
  }

  const Library& nvml_;
  Device device_;
};

Path path_of_level(unsigned level) {
  switch (level) {
    case 0:  // two dies of one board
    case 10:
      return Path::Pix;
    case 20:
      return Path::Pxb;
    case 30:
      return Path::Phb;
    case 40:
      return Path::Node;
    case 50:
      return Path::Sys;
    default:
      return Path::Unknown;
  }
}

void read_gpus(const Library& nvml, Host& host) {
  std::array<char, kTextBytes> driver{};
  if (nvml.ask("nvmlSystemGetDriverVersion", driver.data(), static_cast<unsigned>(driver.size())))
    host.driver = driver.data();
  int cuda = 0;
  if (nvml.ask("nvmlSystemGetCudaDriverVersion", &cuda))
    host.driver_cuda = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  unsigned count = 0;
  if (const auto status = nvml.call("nvmlDeviceGetCount_v2", &count); status != nvml::kSuccess)
    host.no_gpu_reason = "NVML counts no GPUs: " + nvml.explain(status);
  std::vector<std::pair<int, Device>> devices;
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    const auto status = nvml.call("nvmlDeviceGetHandleByIndex_v2", index, &device);
    if (status == nvml::kSuccess) {
      devices.emplace_back(static_cast<int>(index), device);
      host.gpus.push_back(GpuReader(nvml, device).read(static_cast<int>(index)));
    } else {
      host.lost_gpus.push_back(fmt::format("GPU {}: {}", index, nvml.explain(status)));
    }
  }
  if (count == 0 && host.no_gpu_reason.empty()) host.no_gpu_reason = "the driver shows no GPU here";
  for (std::size_t to = 0; to < devices.size(); ++to) {
    for (std::size_t from = 0; from < to; ++from) {
      unsigned level = ~0U;
      nvml.call("nvmlDeviceGetTopologyCommonAncestor", devices[from].second, devices[to].second, &level);
      const Path path = path_of_level(level);
      host.gpu_pairs.push_back(
          {.from = devices[from].first, .to = devices[to].first, .path = path, .pcie_path = path});
    }
  }
  join_by_nvlink(host);
}

int links_between(const Gpu& gpu, const Gpu& other, const Host& host) {
  int direct = 0;
  int open_ended = 0;
  for (const auto& link : gpu.nvlinks) {
    if (!link.active) continue;
    const auto ends_at = [&link](const Gpu& end) { return end.pci == link.remote_pci; };
    if (ends_at(other)) {
      ++direct;
    } else if (link.remote_kind != "gpu" && std::ranges::none_of(host.gpus, ends_at)) {
      ++open_ended;
    }
  }
  return direct > 0 ? direct : open_ended;
}

}  // namespace

void probe_gpus(Host& host, const std::string& library) {
  const Library nvml(library);
  if (!nvml.is_loaded()) {
    host.no_gpu_reason = "the NVIDIA driver's library is missing: " + nvml.error();
    return;
  }
  if (const auto status = nvml.call("nvmlInit_v2"); status != nvml::kSuccess) {
    host.no_gpu_reason = "the NVIDIA driver does not start: " + nvml.explain(status);
    return;
  }
  read_gpus(nvml, host);
  nvml.call("nvmlShutdown");
}

void join_by_nvlink(Host& host) {
  const auto gpu_at = [&host](int index) -> const Gpu& {
    return *std::ranges::find(host.gpus, index, &Gpu::index);
  };
  for (auto& pair : host.gpu_pairs) {
    const Gpu& from = gpu_at(pair.from);
    const Gpu& to = gpu_at(pair.to);
    pair.nvlinks = std::min(links_between(from, to, host), links_between(to, from, host));
    pair.path = pair.nvlinks > 0 ? Path::NvLink : pair.pcie_path;
  }
}

}  // namespace tandem

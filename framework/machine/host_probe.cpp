#include "machine/host_probe.h"

#include <hwloc.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

// The whole file, as far as it can be read: what is not there says nothing.
std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string first_line(const fs::path& path) {
  const auto text = text_of(path);
  return text.substr(0, text.find('\n'));
}

class Topology {
 public:
  Topology() {
    if (hwloc_topology_init(&raw_) != 0) fail("hwloc_topology_init");
    // Network cards and their places; without this hwloc leaves all devices out.
    hwloc_topology_set_io_types_filter(raw_, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    // Cards are found through sysfs and GPUs through NVML (gpu_probe.h). The plugins that ask other libraries
    // for them only cost time, and libpciaccess leaks. One that is not installed is no error.
    for (const char* component : {"pci", "opencl", "cuda", "nvml", "rsmi", "levelzero", "gl"})
      hwloc_topology_set_components(raw_, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
    if (hwloc_topology_load(raw_) != 0) {
      hwloc_topology_destroy(raw_);
      fail("hwloc_topology_load");
    }
  }
  ~Topology() { hwloc_topology_destroy(raw_); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  hwloc_topology_t raw() const { return raw_; }

  std::vector<hwloc_obj_t> all(hwloc_obj_type_t type) const {
    std::vector<hwloc_obj_t> objects;
    for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(raw_, type, object)) != nullptr;)
      objects.push_back(object);
    return objects;
  }

  int package_of(hwloc_obj_t object) const {
    const auto* package = hwloc_get_ancestor_obj_by_type(raw_, HWLOC_OBJ_PACKAGE, object);
    return package == nullptr ? 0 : static_cast<int>(package->logical_index);
  }

 private:
  [[noreturn]] static void fail(const char* call) {
    throw Error("hwloc", call, "the machine's topology cannot be read");
  }

  hwloc_topology_t raw_ = nullptr;
};

std::optional<int> first_node(hwloc_const_nodeset_t nodes) {
  const int first = nodes == nullptr ? -1 : hwloc_bitmap_first(nodes);
  return first < 0 ? std::nullopt : std::optional(first);
}

// Some virtual machines and containers describe hardware threads only; each then counts as a core.
std::vector<Core> read_cores(const Topology& topology) {
  auto objects = topology.all(HWLOC_OBJ_CORE);
  if (objects.empty()) objects = topology.all(HWLOC_OBJ_PU);
  std::vector<Core> cores;
  for (const auto* object : objects) {
    Core core{.index = static_cast<int>(cores.size()),
              .package = topology.package_of(const_cast<hwloc_obj_t>(object)),
              .numa = first_node(object->nodeset).value_or(0)};
    for (int thread = hwloc_bitmap_first(object->cpuset); thread >= 0;
         thread = hwloc_bitmap_next(object->cpuset, thread))
      core.hardware_threads.push_back(thread);
    cores.push_back(std::move(core));
  }
  return cores;
}

std::vector<NumaNode> read_nodes(const Topology& topology) {
  std::vector<NumaNode> nodes;
  for (const auto& object : topology.all(HWLOC_OBJ_NUMANODE))
    nodes.push_back({.index = static_cast<int>(object->os_index),
                     .package = topology.package_of(object),
                     .memory_bytes = static_cast<std::int64_t>(object->attr->numanode.local_memory)});
  if (nodes.empty()) nodes.push_back({});
  return nodes;
}

std::vector<NumaDistance> read_distances(const Topology& topology) {
  unsigned matrices = 1;
  hwloc_distances_s* matrix = nullptr;
  if (hwloc_distances_get_by_type(topology.raw(), HWLOC_OBJ_NUMANODE, &matrices, &matrix,
                                  HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_LATENCY,
                                  0) != 0 ||
      matrices == 0)
    return {};
  std::vector<NumaDistance> distances;
  for (unsigned from = 0; from < matrix->nbobjs; ++from)
    for (unsigned to = 0; to < matrix->nbobjs; ++to)
      distances.push_back({.from = static_cast<int>(matrix->objs[from]->os_index),
                           .to = static_cast<int>(matrix->objs[to]->os_index),
                           .distance = static_cast<int>(matrix->values[from * matrix->nbobjs + to])});
  hwloc_distances_release(topology.raw(), matrix);
  return distances;
}

std::vector<NetworkPort> read_ports(const Topology& topology) {
  std::vector<NetworkPort> ports;
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_osdev(topology.raw(), object)) != nullptr;) {
    const auto kind = object->attr->osdev.type;
    if (kind != HWLOC_OBJ_OSDEV_NETWORK && kind != HWLOC_OBJ_OSDEV_OPENFABRICS) continue;
    NetworkPort port{.name = object->name,
                     .kind = kind == HWLOC_OBJ_OSDEV_NETWORK ? "ethernet" : "infiniband"};
    if (const auto* device = hwloc_get_ancestor_obj_by_type(topology.raw(), HWLOC_OBJ_PCI_DEVICE, object)) {
      const auto& at = device->attr->pcidev;
      port.pci = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", at.domain, at.bus, at.dev, at.func);
      port.numa = numa_node_of_pci(port.pci);
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

std::string processor_name(const Topology& topology) {
  for (const auto& package : topology.all(HWLOC_OBJ_PACKAGE))
    if (const char* name = hwloc_obj_get_info_by_name(package, "CPUModel")) return name;
  return "unknown";
}

std::string system_name() {
  constexpr std::string_view kKey = "PRETTY_NAME=\"";
  const auto text = text_of("/etc/os-release");
  std::string name = "Linux";
  if (const auto at = text.find(kKey); at != std::string::npos) {
    const auto begin = at + kKey.size();
    name = text.substr(begin, text.find('"', begin) - begin);
  }
  utsname kernel{};
  if (uname(&kernel) == 0) name += fmt::format(", {} {}", kernel.sysname, kernel.release);
  return name;
}

// Processors set this flag for the guests of a hypervisor; its maker stands in the firmware's tables.
std::string hypervisor_name() {
  if (text_of("/proc/cpuinfo").find(" hypervisor") == std::string::npos) return "";
  const auto maker = first_line("/sys/class/dmi/id/sys_vendor");
  return maker.empty() ? "hypervisor" : maker;
}

std::string host_name_of_system() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace

Host probe_host() {
  const Topology topology;
  Host host{.name = host_name_of_system(),
            .system = system_name(),
            .processor = processor_name(topology),
            .container = container_kind(),
            .hypervisor = hypervisor_name(),
            .packages = std::max(1, static_cast<int>(topology.all(HWLOC_OBJ_PACKAGE).size())),
            .numa_nodes = read_nodes(topology),
            .numa_distances = read_distances(topology),
            .cores = read_cores(topology),
            .ports = read_ports(topology)};
  for (const auto& node : host.numa_nodes) host.memory_bytes += node.memory_bytes;
  return host;
}

std::optional<int> numa_node_of_pci(const std::string& pci) {
  const auto text = first_line(fs::path("/sys/bus/pci/devices") / pci / "numa_node");
  if (text.empty() || text.front() == '-') return std::nullopt;
  return std::atoi(text.c_str());
}

std::vector<std::string> pci_route(const std::string& pci, const fs::path& devices) {
  std::error_code failed;
  const auto device = fs::canonical(devices / pci, failed);
  if (failed) return {};
  std::vector<std::string> route;
  for (const auto& part : device.parent_path())
    if (!route.empty() || part.string().starts_with("pci")) route.push_back(part.string());
  return route;
}

std::string container_kind() {
  std::error_code ignored;  // what cannot be looked at says nothing
  if (fs::exists("/.dockerenv", ignored)) return "docker";
  if (fs::exists("/run/.containerenv", ignored)) return "podman";
  const auto groups = text_of("/proc/1/cgroup");
  for (const auto& [mark, kind] : {std::pair("kubepods", "kubernetes"), std::pair("docker", "docker"),
                                   std::pair("lxc", "lxc"), std::pair("libpod", "podman")})
    if (groups.find(mark) != std::string::npos) return kind;
  // systemd-nspawn, LXC and others tell the first process by a variable.
  constexpr std::string_view kVariable = "container=";
  const auto variables = text_of("/proc/1/environ");
  for (std::size_t at = 0; at < variables.size();) {
    const std::string entry = variables.c_str() + at;
    if (entry.starts_with(kVariable)) return entry.substr(kVariable.size());
    at += entry.size() + 1;
  }
  return "";
}

}  // namespace tandem

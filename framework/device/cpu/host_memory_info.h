// How much memory this host, or the container around this process, has left.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "device/device.h"

namespace tandem {

// The kernel's estimate of what programs can take without swapping (MemAvailable of /proc/meminfo), and no
// more than the limit of the process's control group (cgroup v2: memory.max less memory.current) leaves.
// `proc` and `cgroup` are where the kernel shows them. What cannot be read limits nothing.
DeviceMemory host_memory_info(const std::filesystem::path& proc = "/proc",
                              const std::filesystem::path& cgroup = "/sys/fs/cgroup");

// The value of a line like "MemAvailable:   2045140 kB".
std::optional<ByteCount> meminfo_value(std::string_view meminfo, std::string_view key);

}  // namespace tandem

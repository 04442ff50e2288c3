#include "machine/machine.h"

#include <algorithm>

#include "core/error.h"

namespace tandem {

std::string_view name_of(Path path) {
  switch (path) {
    case Path::NvLink:
      return "NV";
    case Path::Pix:
      return "PIX";
    case Path::Pxb:
      return "PXB";
    case Path::Phb:
      return "PHB";
    case Path::Node:
      return "NODE";
    case Path::Sys:
      return "SYS";
    case Path::Unknown:
      return "?";
  }
  return "?";
}

std::string name_of(const GpuPair& pair) {
  if (pair.path == Path::NvLink) return fmt::format("NV{}", pair.nvlinks);
  return std::string(name_of(pair.path));
}

const GpuPair& pair_of(const Host& host, int gpu, int other) {
  const auto found = std::ranges::find_if(host.gpu_pairs, [&](const GpuPair& pair) {
    return pair.from == std::min(gpu, other) && pair.to == std::max(gpu, other);
  });
  TANDEM_EXPECT(found != host.gpu_pairs.end(), "host {} has no pair of GPUs {} and {}", host.name, gpu,
                other);
  return *found;
}

int hardware_threads(const Host& host) {
  std::size_t threads = 0;
  for (const auto& core : host.cores) threads += core.hardware_threads.size();
  return static_cast<int>(threads);
}

std::optional<int> numa_distance(const Host& host, int from, int to) {
  for (const auto& entry : host.numa_distances)
    if (entry.from == from && entry.to == to) return entry.distance;
  return std::nullopt;
}

}  // namespace tandem

#include "device/cpu/host_memory_info.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

namespace tandem {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::optional<std::int64_t> leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::int64_t value = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<ByteCount> meminfo_value(std::string_view meminfo, std::string_view key) {
  for (std::size_t begin = 0; begin < meminfo.size();) {
    const auto end = std::min(meminfo.find('\n', begin), meminfo.size());
    auto line = meminfo.substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with(key) || line.substr(key.size(), 1) != ":") continue;
    line.remove_prefix(key.size() + 1);
    const auto kibibytes = leading_number(line);
    return kibibytes ? std::optional(ByteCount(*kibibytes * 1024)) : std::nullopt;
  }
  return std::nullopt;
}

DeviceMemory host_memory_info(const std::filesystem::path& proc, const std::filesystem::path& cgroup) {
  constexpr ByteCount kUnlimited{std::numeric_limits<std::int64_t>::max()};
  const auto meminfo = text_of(proc / "meminfo");
  DeviceMemory memory{.free = meminfo_value(meminfo, "MemAvailable").value_or(kUnlimited),
                      .total = meminfo_value(meminfo, "MemTotal").value_or(kUnlimited)};
  const auto limit = leading_number(text_of(cgroup / "memory.max"));  // "max" is no number and no limit
  const auto used = leading_number(text_of(cgroup / "memory.current"));
  if (limit && used) {
    memory.total = std::min(memory.total, ByteCount(*limit));
    memory.free = std::min(memory.free, ByteCount(std::max<std::int64_t>(*limit - *used, 0)));
  }
  return memory;
}

}  // namespace tandem

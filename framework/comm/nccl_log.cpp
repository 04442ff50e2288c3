#include "comm/nccl_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string_view>

namespace tandem {
namespace {

// What stands after `key` in `line`.
std::optional<std::string_view> after(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return line.substr(at + key.size());
}

std::string_view up_to(std::string_view text, std::string_view end) {
  return text.substr(0, text.find(end));
}

// 0 if `text` does not start with a number.
std::int64_t leading_number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string_view last_word(std::string_view text) {
  return text.substr(text.find_last_of(' ') + 1);
}

// "Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer/read": the kind and what follows its first slash; both
// sides of shared memory.
std::optional<std::string> transport_of(std::string_view message) {
  if (!message.starts_with("Channel ")) return std::nullopt;
  const auto via = after(message, " via ");
  if (!via) return std::nullopt;
  std::size_t end = via->find('/');
  if (end == std::string_view::npos) return std::string(*via);
  end = via->find('/', end + 1);
  if (via->starts_with("SHM/") && end != std::string_view::npos) end = via->find('/', end + 1);
  return std::string(via->substr(0, end));
}

// "24 coll channels, 24 collnet channels, …"
void read_channels(std::string_view message, NcclLog& log) {
  const auto at = message.find(" coll channels");
  if (at == std::string_view::npos) return;
  log.channels = static_cast<int>(leading_number(last_word(message.substr(0, at))));
}

// "AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..15}"
void read_algorithm(std::string_view message, std::int64_t& largest, NcclLog& log) {
  const auto algorithm = after(message, " Bytes -> Algo ");
  if (!algorithm) return;
  const auto protocol = after(*algorithm, " proto ");
  if (!protocol) return;
  const auto bytes = leading_number(last_word(message.substr(0, message.find(" Bytes -> "))));
  if (bytes < largest) return;
  largest = bytes;
  log.algorithm = up_to(*algorithm, " ");
  log.protocol = up_to(*protocol, " ");
}

// Those of all ranks together, most frequent first.
std::vector<std::pair<int, std::string>> transports_of(const std::vector<NcclLog>& ranks) {
  std::map<std::string, int> sums;
  for (const auto& log : ranks) {
    for (const auto& [transport, connections] : log.transports) sums[transport] += connections;
  }
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [transport, connections] : sums) sorted.emplace_back(connections, transport);
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  return sorted;
}

}  // namespace

NcclLog parse_nccl_log(std::istream& text) {
  NcclLog log;
  std::int64_t largest = 0;
  for (std::string line; std::getline(text, line);) {
    if (const auto warning = after(line, " NCCL WARN ")) log.warnings.emplace_back(*warning);
    const auto message = after(line, " NCCL INFO ");
    if (!message) continue;
    if (const auto transport = transport_of(*message)) ++log.transports[*transport];
    read_channels(*message, log);
    read_algorithm(*message, largest, log);
  }
  return log;
}

std::string to_text(const NcclLog& log) {
  std::string text =
      fmt::format("channels {}\nalgorithm {}\nprotocol {}\n", log.channels, log.algorithm, log.protocol);
  for (const auto& [transport, connections] : log.transports) {
    text += fmt::format("transport {} {}\n", connections, transport);
  }
  for (const auto& warning : log.warnings) text += fmt::format("warning {}\n", warning);
  return text;
}

NcclLog nccl_log_from_text(const std::string& text) {
  NcclLog log;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto space = line.find(' ');
    const auto key = line.substr(0, space);
    const auto value = line.substr(space + 1);
    if (key == "channels") log.channels = static_cast<int>(leading_number(value));
    if (key == "algorithm") log.algorithm = value;
    if (key == "protocol") log.protocol = value;
    if (key == "warning") log.warnings.push_back(value);
    if (key == "transport") {
      log.transports[value.substr(value.find(' ') + 1)] = static_cast<int>(leading_number(value));
    }
  }
  return log;
}

std::string describe_transports(const std::vector<NcclLog>& ranks) {
  if (ranks.size() == 1) return "none";
  std::string text;
  for (const auto& [connections, transport] : transports_of(ranks)) {
    text += (text.empty() ? "" : " + ") + transport;
  }
  return text.empty() ? "unknown" : text;
}

bool fulfils(NcclLinkWish wish, PeerPath peers, const std::vector<NcclLog>& ranks) {
  if (wish == NcclLinkWish::Auto) return true;
  const auto found = transports_of(ranks);
  return !found.empty() && std::ranges::all_of(found, [&](const auto& entry) {
    const std::string_view transport = entry.second;
    switch (wish) {
      case NcclLinkWish::NvLink:
        return transport.starts_with("P2P/") && peers == PeerPath::NvLink;
      case NcclLinkWish::Pcie:
        return transport.starts_with(peers == PeerPath::Pcie ? "P2P/" : "SHM/");
      case NcclLinkWish::Net:
        return transport.starts_with("NET/");
      case NcclLinkWish::Auto:
        break;
    }
    return true;
  });
}

}  // namespace tandem

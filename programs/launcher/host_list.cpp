#include "launcher/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include "core/error.h"

namespace tandem {
namespace {

constexpr int kMostSlots = 4096;

[[noreturn]] void fail(std::string what, const std::string& where, std::string_view found) {
  throw InputError(
      {.what = std::move(what),
       .where = where,
       .expected = "one host with its number of ranks, as in \"node1 slots=2\", or node1:2 in --hosts",
       .found = fmt::format("\"{}\"", found),
       .advice = "give each host once, with slots from 1 on"});
}

int slots_of(std::string_view text, const std::string& where, std::string_view whole) {
  int slots = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), slots);
  if (failed != std::errc() || rest != text.data() + text.size() || slots < 1 || slots > kMostSlots)
    fail("The slots of a host are no number of ranks.", where, whole);
  return slots;
}

void require_name(std::string_view name, const std::string& where, std::string_view whole) {
  constexpr std::string_view kAllowed = "-._@[]%";  // and ':' of addresses of IPv6 in brackets
  const auto fits = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kAllowed.find(c) != std::string_view::npos;
  };
  if (name.empty() || name.front() == '-' || !std::ranges::all_of(name, fits))
    fail("This is no name of a host.", where, whole);
}

void add(std::vector<HostSlots>& hosts, HostSlots host, const std::string& where, std::string_view whole) {
  require_name(host.name, where, whole);
  if (std::ranges::find(hosts, host.name, &HostSlots::name) != hosts.end())
    fail("A host stands twice.", where, whole);
  hosts.push_back(std::move(host));
}

}  // namespace

std::vector<HostSlots> parse_hostfile(std::string_view text, const std::string& file) {
  std::vector<HostSlots> hosts;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto where = fmt::format("{}:{}", file, ++number);
    std::istringstream words(line.substr(0, line.find('#')));
    HostSlots host;
    if (!(words >> host.name)) continue;
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      const auto key = word.substr(0, equals);
      if (equals == std::string::npos || (key != "slots" && key != "max_slots" && key != "max-slots"))
        fail("A line of the hostfile is not understood.", where, line);
      const int slots = slots_of(std::string_view(word).substr(equals + 1), where, line);
      if (key == "slots") host.slots = slots;
    }
    add(hosts, std::move(host), where, line);
  }
  if (hosts.empty()) fail("The hostfile names no host.", file, "");
  return hosts;
}

std::vector<HostSlots> parse_host_list(std::string_view text) {
  std::vector<HostSlots> hosts;
  for (std::string_view rest = text;;) {
    const auto part = rest.substr(0, rest.find(','));
    const auto colon = part.find(':');
    HostSlots host{.name = std::string(part.substr(0, colon))};
    if (colon != std::string_view::npos) host.slots = slots_of(part.substr(colon + 1), "--hosts", text);
    add(hosts, std::move(host), "--hosts", text);
    if (part.size() == rest.size()) return hosts;
    rest.remove_prefix(part.size() + 1);
  }
}

std::vector<HostSlots> fill_hosts(const std::vector<HostSlots>& hosts, int ranks) {
  int slots = 0;
  for (const auto& host : hosts) slots += host.slots;
  if (ranks > slots)
    throw InputError({.what = "There are more ranks than the hosts have slots for.",
                      .where = "--ranks",
                      .expected = fmt::format("at most {}", slots),
                      .found = fmt::format("{}", ranks),
                      .advice = "start fewer ranks, name more hosts, or give them more slots"});
  std::vector<HostSlots> filled;
  int left = ranks == 0 ? slots : ranks;
  for (const auto& host : hosts) {
    if (left == 0) break;
    filled.push_back({.name = host.name, .slots = std::min(left, host.slots)});
    left -= filled.back().slots;
  }
  return filled;
}

std::string hostfile_text(const std::vector<HostSlots>& hosts) {
  std::string text;
  for (const auto& host : hosts) text += fmt::format("{} slots={}\n", host.name, host.slots);
  return text;
}

}  // namespace tandem

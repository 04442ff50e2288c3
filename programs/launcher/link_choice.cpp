#include "launcher/link_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/error.h"

namespace tandem {
namespace {

constexpr std::array<std::string_view, 6> kLinks = {"shm", "tcp", "net", "nvlink", "pcie", "auto"};
constexpr std::string_view kPaced = "tcp@1gbit+50us";

[[noreturn]] void fail(std::string_view what, std::string_view text) {
  throw InputError({.what = std::string(what),
                    .where = "--links",
                    .expected = "shm, tcp, net, nvlink, pcie, auto or paced; paced otherwise, as in "
                                "tcp@0.5gbit+100us; each with -no-overlap at the end or not",
                    .found = fmt::format("\"{}\"", text),
                    .advice = "separate links by commas: --links shm,tcp,paced,paced-no-overlap"});
}

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// A number above 0, as the user wrote it.
bool is_positive_number(std::string_view text) {
  double value = 0.0;
  const auto [rest, failed] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  return failed == std::errc() && rest == text.data() + text.size() && std::isfinite(value) && value > 0.0;
}

struct Pace {
  std::optional<std::string_view> gbit;
  std::optional<std::string_view> latency_us;
};

// "0.5gbit+100us", either part alone, or the parts in the other order.
Pace parse_pace(std::string_view text, std::string_view whole) {
  Pace pace;
  for (bool more = true; more;) {
    const auto plus = text.find('+');
    more = plus != std::string_view::npos;
    auto part = text.substr(0, plus);
    if (more) text.remove_prefix(plus + 1);

    std::optional<std::string_view>* value = nullptr;
    if (remove_suffix(part, "gbit")) {
      value = &pace.gbit;
    } else if (remove_suffix(part, "us")) {
      value = &pace.latency_us;
    } else {
      fail("A pace has a part that is neither a bandwidth (gbit) nor a latency (us).", whole);
    }
    if (*value) fail("A pace gives the same quantity twice.", whole);
    if (!is_positive_number(part)) fail("A pace is not a number above 0.", whole);
    *value = part;
  }
  return pace;
}

}  // namespace

LinkChoice parse_link(std::string_view text) {
  std::string_view rest = text;
  const bool no_overlap = remove_suffix(rest, "-no-overlap") || remove_suffix(rest, ":no-overlap");
  LinkChoice choice{.label = std::string(rest)};
  if (rest == "paced") rest = kPaced;

  const auto at = rest.find('@');
  const auto link = rest.substr(0, at);
  if (std::find(kLinks.begin(), kLinks.end(), link) == kLinks.end())
    fail(link == "paced" ? "The link \"paced\" has a pace of its own." : "There is no such link.", text);
  const Pace pace = at == std::string_view::npos ? Pace{} : parse_pace(rest.substr(at + 1), text);

  choice.overrides = {fmt::format("comm.link={}", link),
                      fmt::format("comm.pace_gbit={}", pace.gbit.value_or("0")),
                      fmt::format("comm.pace_latency_us={}", pace.latency_us.value_or("0"))};
  if (no_overlap) {
    choice.label += "-no-overlap";
    choice.overrides.emplace_back("comm.schedule=after");
  }
  return choice;
}

std::vector<LinkChoice> parse_links(const std::vector<std::string>& texts) {
  if (texts.empty()) fail("There is no link to compare.", "");
  std::vector<LinkChoice> choices;
  for (const auto& text : texts) {
    choices.push_back(parse_link(text));
    const auto same = [&choices](const LinkChoice& other) { return other.label == choices.back().label; };
    if (std::count_if(choices.begin(), choices.end(), same) > 1) fail("A link is given twice.", text);
  }
  return choices;
}

}  // namespace tandem

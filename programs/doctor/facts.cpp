#include "doctor/facts.h"

#include <fmt/format.h>

#include "doctor/fact_fields.h"

namespace tandem {
namespace {

constexpr std::string_view kFacts = "tandem-facts ";
constexpr std::string_view kRank = "tandem-rank ";
constexpr std::string_view kPeer = "tandem-peer ";
constexpr std::string_view kPcie = "tandem-pcie ";
constexpr std::string_view kBegin = "tandem-begin ";
constexpr std::string_view kEnd = "tandem-end";

template <class T>
std::string line(std::string_view word, const T& value) {
  constexpr auto kReplace = nlohmann::detail::error_handler_t::replace;
  return std::string(word) + JsonForm<T>::write(value).dump(-1, ' ', false, kReplace) + '\n';
}

template <class T>
T read(std::string_view json_text) {
  const std::string source = "the probe's answer";
  const Json json = parse_json(json_text, source);
  T value;
  JsonForm<T>::read(JsonPlace{&json, &source}, value);
  return value;
}

// Calls handle(line) for every line, without its end.
template <class Handle>
void for_each_line(std::string_view text, Handle handle) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    handle(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

// What follows the word, if the line begins with it.
std::optional<std::string_view> after(std::string_view word, std::string_view line_text) {
  if (!line_text.starts_with(word)) return std::nullopt;
  return line_text.substr(word.size());
}

}  // namespace

std::string line_of(const ProbeFacts& facts) {
  return line(kFacts, facts);
}
std::string line_of(const RankView& view) {
  return line(kRank, view);
}
std::string line_of(const PeerTest& test) {
  return line(kPeer, test);
}
std::string line_of(const PcieUnderLoad& link) {
  return line(kPcie, link);
}
std::string begin_line(std::string_view test) {
  return fmt::format("{}{}\n", kBegin, test);
}
std::string end_line() {
  return fmt::format("{}\n", kEnd);
}

std::optional<ProbeFacts> read_probe_facts(std::string_view text) {
  std::optional<ProbeFacts> facts;
  for_each_line(text, [&](std::string_view l) {
    if (const auto json = after(kFacts, l)) facts = read<ProbeFacts>(*json);
  });
  return facts;
}

std::vector<RankView> read_rank_views(std::string_view text) {
  std::vector<RankView> views;
  for_each_line(text, [&](std::string_view l) {
    if (const auto json = after(kRank, l)) views.push_back(read<RankView>(*json));
  });
  return views;
}

Measurements read_peer_tests(std::string_view text) {
  Measurements measured{.peers_tested = true};
  for_each_line(text, [&](std::string_view l) {
    if (const auto test = after(kBegin, l)) measured.unfinished = *test;
    if (const auto json = after(kPeer, l)) measured.peers.push_back(read<PeerTest>(*json));
    if (const auto json = after(kPcie, l)) measured.pcie.push_back(read<PcieUnderLoad>(*json));
    if (after(kEnd, l)) measured.unfinished.clear();
  });
  return measured;
}

}  // namespace tandem

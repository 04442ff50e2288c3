#include "report/limit_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "report/table_text.h"
#include "report/text_table.h"

namespace tandem {
namespace {

std::string setting(const LimitFacts& facts, const std::string& key) {
  const auto found = facts.config.find(key);
  return found == facts.config.end() ? std::string() : found->second;
}

// "comm.bucket_mb larger (now 25)"
std::string with_setting(const LimitFacts& facts, const std::string& key, const std::string& change) {
  const auto now = setting(facts, key);
  return now.empty() ? fmt::format("{} {}", key, change) : fmt::format("{} {} (now {})", key, change, now);
}

std::string ms(double value) {
  return fmt::format("{:.{}f} ms", value, decimals_for(value));
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0.0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Exposed communication is waiting for the wire and for late peers; a link is to blame only for the first.
double exposed_to_wire_ms(const LimitFacts& facts) {
  if (!facts.exposed_ms) return 0.0;
  if (!facts.wire_ms || *facts.wire_ms <= 0.0) return *facts.exposed_ms;
  return *facts.exposed_ms * *facts.wire_ms / (*facts.wire_ms + mean(facts.peer_wait_ms));
}

void advise_fewer_all_reduces(const LimitFacts& facts, std::vector<std::string>& advice) {
  advice.push_back(with_setting(facts, "train.accumulation", "larger") +
                   ": one all-reduce per step whatever the number of micro-batches");
  advice.push_back(with_setting(facts, "train.micro_batch", "larger") +
                   ": more compute for the same bytes and the same number of all-reduces");
}

Conclusion latency_bound(const LimitFacts& facts, double share) {
  Conclusion conclusion{.limit = Limit::Latency, .share = share, .title = "Latency bound"};
  const double floor_ms = facts.buckets * *facts.latency_ms;
  conclusion.finding = fmt::format(
      "{} buckets × {}, which an all-reduce takes here whatever its size, are {} of the {} that "
      "communication "
      "needs per step. Fewer bytes or a wider link would not help; fewer or faster messages would.",
      facts.buckets, ms(*facts.latency_ms), ms(floor_ms), ms(*facts.wire_ms));
  if (facts.reduction.grouping == "per_tensor")
    conclusion.advice.push_back("comm.grouping: bucketed (now per_tensor): one all-reduce for many tensors");
  else if (facts.buckets > 1)
    conclusion.advice.push_back(
        with_setting(facts, "comm.bucket_mb", "larger") +
        fmt::format(": half as many buckets save about {} per step", ms(floor_ms / 2.0)));
  advise_fewer_all_reduces(facts, conclusion.advice);
  return conclusion;
}

Conclusion communication_bound(const LimitFacts& facts, double share) {
  Conclusion conclusion{.limit = Limit::Communication, .share = share, .title = "Communication bound"};
  const double exposed_ms = exposed_to_wire_ms(facts);
  conclusion.finding = fmt::format("Compute waits {} of every {} step for all-reduces of {} bytes",
                                   ms(exposed_ms), ms(facts.step_ms), with_thousands(facts.bytes));
  if (facts.wire_ms)
    conclusion.finding += fmt::format(", which keep the wire busy for {} at {} GB/s bus bandwidth",
                                      ms(*facts.wire_ms), number(facts.bus_gb_per_s_in_training, 3));
  conclusion.finding += fmt::format(". Hiding all of it would make steps at most {:.2f} times as fast.",
                                    facts.step_ms / (facts.step_ms - exposed_ms));
  auto& advice = conclusion.advice;
  if (facts.reduction.schedule == "after")
    advice.push_back(
        fmt::format("comm.schedule: overlapped (now after): the backward pass lasts {} and can "
                    "hide as much",
                    ms(facts.backward_ms)));
  if (setting(facts, "precision.reduce") == "fp32" && facts.on_gpu)
    advice.emplace_back("precision.reduce: bf16 (now fp32): half the bytes");
  const auto& alone = facts.bus_gb_per_s_standalone;
  const auto& training = facts.bus_gb_per_s_in_training;
  if (alone && training && *training < 0.7 * *alone)
    advice.push_back(with_setting(facts, "comm.bucket_mb", "larger") +
                     fmt::format(": the link alone reaches {:.3f} GB/s", *alone));
  advise_fewer_all_reduces(facts, advice);
  advice.emplace_back("a faster link: launcher compare shows what each one here buys");
  return conclusion;
}

// The rank that the others wait for waits least itself.
struct Straggler {
  std::size_t rank;
  double lead_ms;  // how much longer even the next one waits
};

std::optional<Straggler> straggler_of(const std::vector<double>& peer_wait_ms) {
  if (peer_wait_ms.size() < 2) return std::nullopt;
  const auto least = std::ranges::min_element(peer_wait_ms);
  double next_ms = std::numeric_limits<double>::max();
  for (auto wait = peer_wait_ms.begin(); wait != peer_wait_ms.end(); ++wait)
    if (wait != least) next_ms = std::min(next_ms, *wait);
  return Straggler{static_cast<std::size_t>(least - peer_wait_ms.begin()), next_ms - *least};
}

}  // namespace

std::optional<Conclusion> communication_rule(const LimitFacts& facts) {
  const double share = exposed_to_wire_ms(facts) / facts.step_ms;
  if (share < kCommunicationLimit) return std::nullopt;
  const bool latency =
      facts.latency_ms && facts.wire_ms && facts.buckets * *facts.latency_ms >= kLatencyPart * *facts.wire_ms;
  return latency ? latency_bound(facts, share) : communication_bound(facts, share);
}

std::optional<Conclusion> data_rule(const LimitFacts& facts) {
  if (!facts.data_wait_ms || *facts.data_wait_ms / facts.step_ms < kDataLimit) return std::nullopt;
  Conclusion conclusion{
      .limit = Limit::Data, .share = *facts.data_wait_ms / facts.step_ms, .title = "Data bound"};
  conclusion.finding = fmt::format("Every {} step begins with {} of waiting for its batch.",
                                   ms(facts.step_ms), ms(*facts.data_wait_ms));
  const bool tokens = facts.item == "tokens";
  conclusion.advice = {
      with_setting(facts, "data.prefetch", "larger") + ", if batches take unevenly long to prepare",
      "more processor cores per rank for the threads that prepare batches",
      fmt::format("data.kind: synthetic_{}, to see what the step takes without the data set",
                  tokens ? "tokens" : "images")};
  return conclusion;
}

std::optional<Conclusion> contention_rule(const LimitFacts& facts) {
  if (!facts.contention_ms || *facts.contention_ms / facts.step_ms < kContentionLimit) return std::nullopt;
  const double noise_ms = facts.contention_noise_ms.value_or(0.0);
  if (*facts.contention_ms <= noise_ms) return std::nullopt;
  Conclusion conclusion{
      .limit = Limit::Contention, .share = *facts.contention_ms / facts.step_ms, .title = "Contention"};
  conclusion.finding = fmt::format(
      "The all-reduces cost {} ± {} of every {} step beyond the time that compute waits for them: compute "
      "itself is slower while they run.",
      ms(*facts.contention_ms), ms(noise_ms), ms(facts.step_ms));
  if (facts.on_gpu)
    conclusion.advice.push_back(with_setting(facts, "comm.max_ctas", "smaller") +
                                ": fewer multiprocessors for communication, if bandwidth allows it");
  else
    conclusion.advice.emplace_back("fewer ranks than cores, so that communication has a core of its own");
  conclusion.advice.push_back(
      "precision.reduce: bf16 or fp16, or larger train.accumulation: less memory traffic by all-reduces");
  return conclusion;
}

std::optional<Conclusion> straggler_rule(const LimitFacts& facts) {
  const auto straggler = straggler_of(facts.peer_wait_ms);
  if (!straggler || straggler->lead_ms / facts.step_ms < kStragglerLimit) return std::nullopt;
  const auto rank = straggler->rank;
  Conclusion conclusion{.limit = Limit::Straggler,
                        .share = straggler->lead_ms / facts.step_ms,
                        .title = fmt::format("Straggler: rank {}", rank)};
  conclusion.finding =
      fmt::format("In every {} step each other rank waits at least {} longer for its peers than rank {} does",
                  ms(facts.step_ms), ms(straggler->lead_ms), rank);
  if (rank < facts.rank_compute_ms.size() && facts.rank_compute_ms.size() > 1) {
    std::vector<double> others = facts.rank_compute_ms;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(rank));
    conclusion.finding += fmt::format(": its forward and backward passes take {}, those of the others {}",
                                      ms(facts.rank_compute_ms[rank]), ms(mean(others)));
  }
  conclusion.finding += '.';
  conclusion.advice = {
      fmt::format(
          "a look at the machine of rank {}: clocks and temperature, other programs, the cores that it "
          "is bound to",
          rank),
      "devices of one kind: the slowest sets the pace"};
  return conclusion;
}

std::optional<Conclusion> launch_rule(const LimitFacts& facts) {
  if (facts.other_ms / facts.step_ms < kLaunchLimit) return std::nullopt;
  Conclusion conclusion{
      .limit = Limit::Launch, .share = facts.other_ms / facts.step_ms, .title = "Launch bound"};
  conclusion.finding = fmt::format(
      "Between two steps the device stands still for {} of every {}: the host has not handed it the next "
      "step "
      "yet.",
      ms(facts.other_ms), ms(facts.step_ms));
  if (facts.on_gpu && setting(facts, "gpu.graph") == "false")
    conclusion.advice.emplace_back("gpu.graph: true (now false): one launch per step");
  conclusion.advice.push_back(with_setting(facts, "train.micro_batch", "larger") + ": longer kernels");
  conclusion.advice.emplace_back("more processor cores per rank");
  return conclusion;
}

Conclusion compute_bound(const LimitFacts& facts) {
  Conclusion conclusion{
      .limit = Limit::Compute, .share = facts.compute_ms / facts.step_ms, .title = "Compute bound"};
  conclusion.finding = fmt::format("Forward, backward and optimizer take {} of every {} step",
                                   ms(facts.compute_ms), ms(facts.step_ms));
  if (facts.exposed_ms && facts.buckets > 0)
    conclusion.finding += fmt::format("; communication exposes {}. A faster link would gain at most {} %",
                                      ms(*facts.exposed_ms), percent(*facts.exposed_ms / facts.step_ms));
  conclusion.finding += '.';
  const auto arithmetic = setting(facts, "precision.compute");
  if (facts.on_gpu && (arithmetic == "fp32" || arithmetic == "tf32"))
    conclusion.advice.push_back(fmt::format("precision.compute: bf16 (now {})", arithmetic));
  conclusion.advice.emplace_back("more or faster devices: this run would use them");
  return conclusion;
}

}  // namespace tandem

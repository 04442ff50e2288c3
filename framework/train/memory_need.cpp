#include "train/memory_need.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace tandem {
namespace {

constexpr double kMega = 1e6;
constexpr double kGiga = 1e9;

std::string with_unit(ByteCount bytes) {
  const auto value = static_cast<double>(bytes.value());
  return value < kGiga ? fmt::format("{:.1f} MB", value / kMega) : fmt::format("{:.2f} GB", value / kGiga);
}

std::string parts_of(const MemoryNeed& need) {
  return fmt::format("weights {}, gradients {}, optimizer {}, activations {}, workspace {}, batches {}",
                     with_unit(need.parameters.weights), with_unit(need.parameters.gradients),
                     with_unit(need.parameters.optimizer), with_unit(need.activations),
                     with_unit(need.workspace), with_unit(need.batches));
}

std::string advice_on_batch(const MemoryNeed& need, const MemoryAvailable& available) {
  const auto largest = std::min(largest_micro_batch(need, available.share()), need.micro_batch - 1);
  if (largest <= 0)
    return "not even one sample fits beside the parameters: choose a smaller model, or give the run more "
           "memory";
  return fmt::format(
      "the largest micro-batch that fits is train.micro_batch={}; train.accumulation keeps the global batch",
      largest);
}

std::string advice_on_recompute(const MemoryAvailable& available,
                                const std::function<MemoryNeed()>& recomputed) {
  if (!recomputed) return {};
  const auto need = recomputed();
  if (need.total() > available.share()) return {};
  return fmt::format(
      "train.recompute=blocks makes it {} per rank, which fits, and the step longer; without it, ",
      with_unit(need.total()));
}

}  // namespace

MemoryNeed with_plan(MemoryNeed need, const Plan& plan) {
  need.workspace = plan.largest_scratch();
  need.activations = plan.arena_bytes - need.workspace;
  return need;
}

MemoryAvailable available_memory(const Device& device, RankGroup& group) {
  MemoryAvailable available{.device = device.memory_info(), .ranks = 0};
  const auto own = group.host() + " " + device.memory_address();
  for (const auto& memory : group.all_gather(own)) available.ranks += memory == own ? 1 : 0;
  return available;
}

std::int64_t largest_micro_batch(const MemoryNeed& need, ByteCount available) {
  const auto left = available - need.parameters.total() - need.workspace;
  const auto growing = (need.activations + need.batches).value();
  if (left.value() <= 0 || growing <= 0) return 0;
  const auto per_sample = (growing + need.micro_batch - 1) / need.micro_batch;
  return left.value() / per_sample;
}

std::string to_text(const MemoryNeed& need, const MemoryAvailable& available) {
  const auto sharing =
      available.ranks > 1 ? fmt::format(" that {} ranks share", available.ranks) : std::string();
  return fmt::format("{} per rank of {} free ({} in all){}: {}", with_unit(need.total()),
                     with_unit(available.device.free), with_unit(available.device.total), sharing,
                     parts_of(need));
}

void expect_enough_memory(const MemoryNeed& need, const MemoryAvailable& available, const std::string& device,
                          const std::function<MemoryNeed()>& recomputed) {
  if (need.total() <= available.share()) return;
  throw InputError({.what = "the run does not fit in memory",
                    .where = fmt::format("train.micro_batch={} on {}", need.micro_batch, device),
                    .expected = fmt::format("at most {} per rank", with_unit(available.share())),
                    .found = to_text(need, available),
                    .advice = advice_on_recompute(available, recomputed) + advice_on_batch(need, available)});
}

}  // namespace tandem

// What must hold of any plan's memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "layers/plan.h"

namespace tandem {

// By op of `mode`, whether what lies in a storage after the op may still be read: the usual analysis from the
// end, which knows nothing of lives that begin.
inline std::vector<std::vector<bool>> wanted_after(const Plan& plan, Mode mode) {
  std::vector<std::vector<bool>> wanted(plan.ops_in(mode));
  std::vector<bool> now(plan.storages.size(), false);
  std::vector<bool> holds(plan.storages.size(), false);
  const auto storage_of = [&](const TensorUse& use) {
    return static_cast<std::size_t>(plan.tensors[static_cast<std::size_t>(use.tensor.index)].storage);
  };
  for (const auto& uses : plan.ops) {
    for (const auto& use : uses)
      holds[storage_of(use)] = holds[storage_of(use)] || use.access != Access::Update;
  }
  for (auto op = plan.ops_in(mode); op-- > 0;) {
    wanted[op] = now;
    for (const auto& use : plan.ops[op]) now[storage_of(use)] = false;
    for (const auto& use : plan.ops[op]) {
      if (use.access != Access::Write && holds[storage_of(use)]) now[storage_of(use)] = true;
    }
  }
  return wanted;
}

// Fails if two storages that are in use at the same op of `mode` share a byte, if one is missing or does not
// fit, or if its start is not aligned for a kernel's vector loads. In use is what the op uses, and what was
// used before and is still wanted. Returns the most bytes in use at once.
inline ByteCount expect_disjoint_memory(const Plan& plan, Mode mode) {
  constexpr std::int64_t kAlignment = 256;
  const auto wanted = wanted_after(plan, mode);
  std::vector<bool> used_before(plan.storages.size(), false);
  ByteCount most;
  for (std::size_t op = 0; op < plan.ops_in(mode); ++op) {
    std::vector<std::pair<std::int64_t, std::int64_t>> in_use;
    ByteCount sum;
    std::vector<bool> used(plan.storages.size(), false);
    for (const auto& use : plan.ops[op]) {
      const auto storage = plan.tensors[static_cast<std::size_t>(use.tensor.index)].storage;
      used[static_cast<std::size_t>(storage)] = used_before[static_cast<std::size_t>(storage)] = true;
    }
    for (std::size_t i = 0; i < plan.storages.size(); ++i) {
      const auto& storage = plan.storages[i];
      if (storage.external || !(used[i] || (used_before[i] && wanted[op][i]))) continue;
      const auto& offset = mode == Mode::Train ? storage.train_offset : storage.evaluate_offset;
      if (!offset) {
        ADD_FAILURE() << "storage " << i << " is used at op " << op << " and has no place";
        return most;
      }
      EXPECT_EQ(offset->value() % kAlignment, 0) << "storage " << i;
      EXPECT_LE((*offset + storage.bytes).value(), plan.arena_bytes.value()) << "storage " << i;
      in_use.emplace_back(offset->value(), (*offset + storage.bytes).value());
      sum += storage.bytes.rounded_up(ByteCount(kAlignment));
    }
    most = std::max(most, sum);
    std::ranges::sort(in_use);
    for (std::size_t i = 1; i < in_use.size(); ++i) {
      if (in_use[i].first < in_use[i - 1].second) {
        ADD_FAILURE() << "at op " << op << " two storages overlap at byte " << in_use[i].first;
        return most;
      }
    }
  }
  return most;
}

}  // namespace tandem

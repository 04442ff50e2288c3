#include <algorithm>
#include <map>
#include <numeric>

#include "layers/plan.h"

namespace tandem {
namespace {

constexpr ByteCount kAlignment{256};

// From the first to the last of a few ops.
struct Life {
  std::size_t first = 0;
  std::size_t last = 0;
  bool overlaps(const Life& other) const { return first <= other.last && other.first <= last; }
};
using Lives = std::vector<Life>;  // of one storage, in order

bool overlap(const Lives& some, const Lives& others) {
  return std::ranges::any_of(some, [&](const Life& life) {
    return std::ranges::any_of(others, [&](const Life& other) { return life.overlaps(other); });
  });
}

struct Placed {
  const Lives* lives;
  ByteCount begin;
  ByteCount end;
};

// What becomes, with an op, of what was in a storage before.
enum class Before { Kept, Gone };

std::vector<Lives> lives_in(const Plan& plan, Mode mode) {
  const auto holds_values = plan.holds_values();
  std::vector<Lives> lives(plan.storages.size());
  std::map<std::size_t, Before> uses;  // by storage, of one op
  for (std::size_t op = 0; op < plan.ops_in(mode); ++op) {
    uses.clear();
    for (const auto& use : plan.ops[op]) {
      const auto storage =
          static_cast<std::size_t>(plan.tensors[static_cast<std::size_t>(use.tensor.index)].storage);
      const bool gone = use.access == Access::Write || !holds_values[storage];
      const auto before = uses.emplace(storage, Before::Gone).first;
      if (!gone) before->second = Before::Kept;
    }
    for (const auto& [storage, before] : uses) {
      auto& of = lives[storage];
      if (of.empty() || before == Before::Gone) of.push_back({op, op});
      of.back().last = op;
    }
  }
  return lives;
}

ByteCount lowest_free(const std::vector<Placed>& placed, const Lives& lives, ByteCount bytes) {
  ByteCount at;
  for (const auto& other : placed) {  // ascending by begin
    if (!overlap(*other.lives, lives)) continue;
    if (at + bytes <= other.begin) break;
    at = std::max(at, other.end);
  }
  return at;
}

// Offsets of the storages used in a mode; returns the bytes needed.
ByteCount place(Plan& plan, Mode mode, std::optional<ByteCount> Storage::*offset) {
  const auto lives = lives_in(plan, mode);
  std::vector<std::size_t> order(plan.storages.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return plan.storages[i].bytes; });

  std::vector<Placed> placed;
  ByteCount needed;
  for (const auto index : order) {
    auto& storage = plan.storages[index];
    if (lives[index].empty() || storage.external) continue;
    const auto bytes = storage.bytes.rounded_up(kAlignment);
    const auto at = lowest_free(placed, lives[index], bytes);
    storage.*offset = at;
    const Placed entry{&lives[index], at, at + bytes};
    placed.insert(std::ranges::upper_bound(placed, at, {}, &Placed::begin), entry);
    needed = std::max(needed, entry.end);
  }
  return needed;
}

}  // namespace

void assign_memory(Plan& plan) {
  const auto train = place(plan, Mode::Train, &Storage::train_offset);
  const auto evaluate = place(plan, Mode::Evaluate, &Storage::evaluate_offset);
  plan.arena_bytes = std::max(train, evaluate);
}

}  // namespace tandem

#include "layers/planner.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/error.h"

namespace tandem {

Planner::Scope Planner::scope(std::string name) {
  scopes_.push_back(std::move(name));
  return Scope(*this);
}

std::string Planner::path(const std::string& name) const {
  return scopes_.empty() ? name : fmt::format("{}.{}", fmt::join(scopes_, "."), name);
}

std::string Planner::path() const {
  return fmt::format("{}", fmt::join(scopes_, "."));
}

ParamId Planner::parameter(const ParameterDeclaration& declaration) {
  plan_.parameters.push_back({
      .name = path(declaration.name),
      .canonical = declaration.canonical,
      .stored = declaration.stored,
      .packing = declaration.packing,
      .compute = declaration.group == OptimizerGroup::Weight ? compute_ : DType::F32,
      .group = declaration.group,
      .initializer = declaration.initializer,
  });
  return {static_cast<int>(plan_.parameters.size()) - 1};
}

BufferId Planner::buffer(const std::string& name, Shape shape, float initial) {
  plan_.buffers.push_back({path(name), shape, initial});
  return {static_cast<int>(plan_.buffers.size()) - 1};
}

TensorId Planner::tensor(const std::string& name, Shape shape, DType dtype) {
  const auto storage = static_cast<int>(plan_.storages.size());
  plan_.storages.push_back({.bytes = bytes_of(shape.elements(), dtype)});
  plan_.tensors.push_back({path(name), shape, dtype, storage});
  return {static_cast<int>(plan_.tensors.size()) - 1};
}

TensorId Planner::bytes(const std::string& name, ByteCount count) {
  return count > ByteCount(0) ? tensor(name, {count.value()}, DType::U8) : TensorId{};
}

TensorId Planner::external(const std::string& name, Shape shape, DType dtype) {
  const auto id = tensor(name, shape, dtype);
  plan_.storages.back().external = true;
  return id;
}

TensorId Planner::reshaped(TensorId tensor, Shape shape) {
  auto view = plan_.tensors.at(static_cast<std::size_t>(tensor.index));
  TANDEM_EXPECT(view.shape.elements() == shape.elements(), "{} of shape {} cannot be viewed as {}", view.name,
                view.shape.to_string(), shape.to_string());
  view.shape = shape;
  plan_.tensors.push_back(std::move(view));
  return {static_cast<int>(plan_.tensors.size()) - 1};
}

TensorId Planner::sample_positions(std::int64_t samples) {
  if (!positions_.valid()) positions_ = external("sample_positions", {samples}, DType::I64);
  TANDEM_EXPECT(shape(positions_) == Shape{samples}, "{} has {} samples where others have {}",
                path("dropout"), samples, shape(positions_)[0]);
  return positions_;
}

void Planner::op(std::initializer_list<TensorUse> uses) {
  OpUses valid;
  std::ranges::copy_if(uses, std::back_inserter(valid),
                       [](const TensorUse& use) { return use.tensor.valid(); });
  TANDEM_EXPECT(!valid.empty(), "an op of {} uses no tensor", path());
  plan_.ops.push_back(std::move(valid));
}

void Planner::gradient(ParamId parameter) {
  plan_.gradient_writes.push_back(parameter);
}

std::vector<bool> Planner::touched(std::size_t first, std::size_t end, bool changed_only) const {
  std::vector<bool> found(plan_.storages.size(), false);
  for (auto op = first; op < end; ++op) {
    for (const auto& use : plan_.ops[op]) {
      if (changed_only && use.access == Access::Read) continue;
      found[static_cast<std::size_t>(storage_of(use))] = true;
    }
  }
  return found;
}

void Planner::repeat(std::size_t first, std::size_t end) {
  TANDEM_EXPECT(first <= end && end <= plan_.ops.size(), "{} repeats ops [{}, {}) of {}", path(), first, end,
                plan_.ops.size());
  const auto used_before = touched(0, first, false);
  const auto changed_within = touched(first, end, true);
  const auto changed_since = touched(end, plan_.ops.size(), true);
  for (auto op = first; op < end; ++op) {
    for (const auto& use : plan_.ops[op]) {
      const auto storage = static_cast<std::size_t>(storage_of(use));
      const auto& name = plan_.tensors[static_cast<std::size_t>(use.tensor.index)].name;
      TANDEM_EXPECT(!changed_since[storage], "{} cannot run again: {} has been changed since", path(), name);
      TANDEM_EXPECT(!changed_within[storage] || !used_before[storage],
                    "{} cannot run again: it changes its input {}", path(), name);
    }
  }
  for (auto op = first; op < end; ++op) plan_.ops.push_back(OpUses(plan_.ops[op]));
  plan_.recomputed.push_back(path());
}

void Planner::begin_backward() {
  plan_.forward_ops = plan_.ops.size();
}

Plan Planner::finish() {
  assign_memory(plan_);
  return std::move(plan_);
}

std::vector<ParamId> Plan::ready_order() const {
  std::vector<ParamId> order;
  for (auto write = gradient_writes.rbegin(); write != gradient_writes.rend(); ++write) {
    if (std::ranges::find(order, *write) == order.end()) order.push_back(*write);
  }
  std::ranges::reverse(order);
  return order;
}

std::vector<bool> Plan::holds_values() const {
  std::vector<bool> holds(storages.size(), false);
  for (const auto& uses : ops) {
    for (const auto& use : uses) {
      const auto storage = tensors[static_cast<std::size_t>(use.tensor.index)].storage;
      if (use.access != Access::Update) holds[static_cast<std::size_t>(storage)] = true;
    }
  }
  return holds;
}

ByteCount Plan::largest_scratch() const {
  const auto holds = holds_values();
  ByteCount largest;
  for (std::size_t i = 0; i < storages.size(); ++i) {
    if (!holds[i] && !storages[i].external) largest = std::max(largest, storages[i].bytes);
  }
  return largest;
}

std::vector<int> Plan::gradient_uses() const {
  std::vector<int> uses(parameters.size(), 0);
  for (const auto id : gradient_writes) ++uses[static_cast<std::size_t>(id.index)];
  return uses;
}

}  // namespace tandem

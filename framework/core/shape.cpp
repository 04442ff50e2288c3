#include "core/shape.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "core/error.h"

namespace tandem {

Shape::Shape(std::initializer_list<std::int64_t> extents) : rank_(static_cast<int>(extents.size())) {
  TANDEM_EXPECT(rank_ <= kMaxRank, "a shape has at most {} axes, got {}", kMaxRank, rank_);
  for (const auto extent : extents) TANDEM_EXPECT(extent >= 0, "negative extent {} in a shape", extent);
  std::copy(extents.begin(), extents.end(), extents_.begin());
}

std::int64_t Shape::operator[](int axis) const {
  TANDEM_EXPECT(axis >= 0 && axis < rank_, "axis {} of shape {}", axis, to_string());
  return extents_[static_cast<std::size_t>(axis)];
}

ElementCount Shape::elements() const {
  std::int64_t product = 1;
  for (int axis = 0; axis < rank_; ++axis) product *= extents_[static_cast<std::size_t>(axis)];
  return ElementCount(product);
}

std::string Shape::to_string() const {
  return fmt::format("[{}]", fmt::join(std::span(extents_.data(), static_cast<std::size_t>(rank_)), ", "));
}

}  // namespace tandem

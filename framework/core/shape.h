// The extents of a tensor, outermost first. Memory is always dense and row-major.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "core/dtype.h"

namespace tandem {

class Shape {
 public:
  static constexpr int kMaxRank = 5;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents);  // throws Error if too many or any is negative

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const;  // REQUIRES 0 <= axis < rank()
  ElementCount elements() const;            // 1 for rank 0
  bool operator==(const Shape&) const = default;
  std::string to_string() const;  // "[8, 28, 28, 16]"

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

}  // namespace tandem

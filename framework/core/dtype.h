// Element types, and counts that cannot be mistaken for one another: elements are not bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace tandem {

enum class DType : std::uint8_t { F32, BF16, F16, I32, I64, U8 };

std::string_view name_of(DType dtype);  // "f32", "bf16", …

// A count with a unit. Counts of different units do not mix; there is no implicit way in or out.
template <class Unit>
class Count {
 public:
  constexpr Count() = default;
  constexpr explicit Count(std::int64_t value) : value_(value) {}
  constexpr std::int64_t value() const { return value_; }

  constexpr Count operator+(Count other) const { return Count(value_ + other.value_); }
  constexpr Count operator-(Count other) const { return Count(value_ - other.value_); }
  constexpr Count operator*(std::int64_t times) const { return Count(value_ * times); }
  constexpr Count& operator+=(Count other) {
    value_ += other.value_;
    return *this;
  }
  constexpr auto operator<=>(const Count&) const = default;

  // The smallest multiple of `step` that is not below this count.
  constexpr Count rounded_up(Count step) const {
    return Count((value_ + step.value_ - 1) / step.value_ * step.value_);
  }

 private:
  std::int64_t value_ = 0;
};

using ElementCount = Count<struct ElementUnit>;
using ByteCount = Count<struct ByteUnit>;

constexpr std::int64_t bytes_per_element(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::I32:
      return 4;
    case DType::I64:
      return 8;
    case DType::BF16:
    case DType::F16:
      return 2;
    case DType::U8:
      return 1;
  }
  return 0;
}

constexpr ByteCount bytes_of(ElementCount elements, DType dtype) {
  return ByteCount(elements.value() * bytes_per_element(dtype));
}

// The DType that stores a C++ type: dtype_of<float>() == DType::F32.
template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::F32;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::I32;
}
template <>
constexpr DType dtype_of<std::int64_t>() {
  return DType::I64;
}
template <>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::U8;
}

}  // namespace tandem

// A tensor in host memory that a test owns, reads and writes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "core/rng.h"
#include "core/tensor_view.h"
#include "device/buffer.h"

namespace tandem {

// Move-only; views stay valid when it moves. Memory is aligned as a buffer's cache lines are, and zeroed.
// Nothing here knows streams: synchronize before reading.
class HostTensor {
 public:
  HostTensor() = default;
  explicit HostTensor(const Shape& shape, DType dtype = DType::F32) : shape_(shape), dtype_(dtype) {
    take(::operator new(std::max<std::size_t>(bytes(), 1), kAlignment), nullptr);
  }
  // In memory that a device reaches, too. `allocator` outlives the tensor.
  HostTensor(const Shape& shape, DType dtype, Allocator& allocator) : shape_(shape), dtype_(dtype) {
    take(allocator.allocate(ByteCount(static_cast<std::int64_t>(std::max<std::size_t>(bytes(), 1)))),
         &allocator);
  }

  // fp32, uniform in [low, high), the same numbers for the same seed.
  static HostTensor random(const Shape& shape, std::uint32_t seed, float low = -1.0f, float high = 1.0f) {
    HostTensor tensor(shape);
    const auto key = philox_key(seed, RandomUse::Synthetic);
    std::uint64_t counter = 0;
    for (float& value : tensor.values()) {
      value = low + (high - low) * uniform01(philox(key, counter++).word[0]);
    }
    return tensor;
  }

  template <class T>
  static HostTensor of(const Shape& shape, std::initializer_list<T> values) {
    HostTensor tensor(shape, dtype_of<T>());
    TANDEM_EXPECT(shape.elements().value() == static_cast<std::int64_t>(values.size()), "{} from {} values",
                  shape.to_string(), values.size());
    std::ranges::copy(values, tensor.values<T>().begin());
    return tensor;
  }

  // Opaque memory (saved, workspace): filled with 0xff bytes, NaN to whoever reads before writing.
  static HostTensor opaque(ByteCount bytes) {
    HostTensor tensor({bytes.value()}, DType::U8);
    std::ranges::fill(tensor.values<std::uint8_t>(), std::uint8_t{0xff});
    return tensor;
  }

  // An output: filled with NaN, so that an element that nobody writes is seen.
  static HostTensor unwritten(const Shape& shape) {
    HostTensor tensor(shape);
    std::ranges::fill(tensor.values(), std::nanf(""));
    return tensor;
  }

  HostTensor copy() const {
    HostTensor other(shape_, dtype_);
    std::copy_n(memory_.get(), static_cast<std::size_t>(view().bytes().value()), other.memory_.get());
    return other;
  }

  TensorView view() const { return TensorView(memory_.get(), dtype_, shape_); }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return shape_.elements().value(); }

  template <class T = float>
  std::span<T> values() const {
    return {view().data<T>(), static_cast<std::size_t>(elements())};
  }
  float& operator[](std::int64_t index) const { return values()[static_cast<std::size_t>(index)]; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Release {
    Allocator* allocator;  // null: memory of operator new
    void operator()(std::byte* memory) const {
      if (allocator == nullptr) {
        ::operator delete(memory, kAlignment);
      } else {
        allocator->release(memory);
      }
    }
  };
  std::size_t bytes() const { return static_cast<std::size_t>(bytes_of(shape_.elements(), dtype_).value()); }
  void take(void* memory, Allocator* from) {
    memory_ = {static_cast<std::byte*>(memory), Release{from}};
    std::fill_n(memory_.get(), bytes(), std::byte{0});
  }

  std::unique_ptr<std::byte, Release> memory_{nullptr, Release{nullptr}};
  Shape shape_;
  DType dtype_ = DType::F32;
};

// Sum of products, in double.
inline double dot(const HostTensor& a, const HostTensor& b) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < a.elements(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// Every element of `actual` is within `tolerance` of `expected`, relative to the largest magnitude in
// `expected`: sums of products lose accuracy relative to their largest terms, not to their result. A NaN
// fails.
inline void expect_close(const std::string& what, const HostTensor& actual, std::span<const double> expected,
                         double tolerance) {
  ASSERT_EQ(actual.elements(), static_cast<std::int64_t>(expected.size())) << what;
  double largest = 0.0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::int64_t i = 0; i < actual.elements(); ++i) {
    const double wanted = expected[static_cast<std::size_t>(i)];
    if (!(std::abs(actual[i] - wanted) <= tolerance * largest)) {
      ADD_FAILURE() << what << ", element " << i << " of " << actual.shape().to_string() << ": expected "
                    << wanted << ", found " << actual[i] << " (largest magnitude " << largest << ")";
      return;
    }
  }
}

inline void expect_close(const std::string& what, const HostTensor& actual, const HostTensor& expected,
                         double tolerance) {
  const auto values = expected.values();
  expect_close(what, actual, std::vector<double>(values.begin(), values.end()), tolerance);
}

// The same bits, element by element.
inline void expect_same(const std::string& what, const HostTensor& actual, const HostTensor& expected) {
  ASSERT_EQ(actual.shape().to_string(), expected.shape().to_string()) << what;
  for (std::int64_t i = 0; i < actual.elements(); ++i) ASSERT_EQ(actual[i], expected[i]) << what << " " << i;
}

}  // namespace tandem

// The inner loop of convolutions: a matrix product whose left matrix may be any regular window on memory.
//
//   c[i][k] = or += sum over g < segments, j < length of
//             a[i * a_row + g * a_segment + j * a_step] * b[g * b_segment + j * b_step + k]
//
// A GEMM wants its left matrix as a table. A convolution's overlaps itself (neighbouring positions share most
// of their taps), and as a table it is R * S times as large as the image. With free strides the image is the
// table. Forward sums over taps (a_step = 1) with a row per position; the weight gradient sums over positions
// with a row per tap; both are this product.
//
// A tile of c stays in vector registers over the whole sum: at most 24 of 32 registers with AVX-512, 12 of 16
// otherwise; the rest hold b and one broadcast element of a.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem {

#if defined(__AVX512F__)
inline constexpr int kLanes = 16;  // floats in a vector register
inline constexpr int kTileRegisters = 24;
#elif defined(__AVX__)
inline constexpr int kLanes = 8;
inline constexpr int kTileRegisters = 12;
#else
inline constexpr int kLanes = 4;
inline constexpr int kTileRegisters = 12;
#endif

inline constexpr int kStripVectors = 2;
inline constexpr int kStripWidth = kStripVectors * kLanes;  // columns of c that one call computes at most

// `channels` rounded up to whole vectors.
constexpr std::int64_t whole_vectors(std::int64_t channels) {
  return (channels + kLanes - 1) / kLanes * kLanes;
}

// Strides in elements. Columns of b are read in whole vectors: `b` is readable up to the next multiple of
// kLanes; only `columns` of c are touched.
struct TileProduct {
  const float* a = nullptr;
  std::ptrdiff_t a_row = 0, a_segment = 0, a_step = 0;
  const float* b = nullptr;
  std::ptrdiff_t b_segment = 0, b_step = 0;
  std::int64_t segments = 1, length = 0;
  float* c = nullptr;
  std::ptrdiff_t c_row = 0;
  std::int64_t columns = 0;  // 1 to kStripWidth
  bool accumulate = false;
};

// Computes `rows` rows of c.
void multiply(TileProduct product, std::int64_t rows);

}  // namespace tandem

#include "ops/cpu/tile_product.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace tandem {
namespace {

using Vector [[gnu::vector_size(kLanes * sizeof(float))]] = float;

inline Vector load(const float* from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// One tile of kRows rows and kVectors * kLanes columns. Pack expansions instead of loops: every register has
// its own name at compile time, whatever the optimizer thinks of unrolling.
template <int kRows, int kVectors>
class Tile {
 public:
  static void run(const TileProduct& product) {
    Tile tile;
    tile.sum(product);
    tile.store(product);
  }

 private:
  void sum(const TileProduct& product) {
    for (std::int64_t g = 0; g < product.segments; ++g) {
      const float* a = product.a + g * product.a_segment;
      const float* b = product.b + g * product.b_segment;
      for (std::int64_t j = 0; j < product.length; ++j) {
        add_step(a, product.a_row, b, std::make_index_sequence<kRows>());
        a += product.a_step;
        b += product.b_step;
      }
    }
  }

  template <std::size_t... kRow>
  [[gnu::always_inline]] void add_step(const float* a, std::ptrdiff_t a_row, const float* b,
                                       std::index_sequence<kRow...>) {
    const Vector first = load(b);
    if constexpr (kVectors == 1) {
      ((sums_[kRow][0] += *a * first, a += a_row), ...);
    } else {
      const Vector second = load(b + kLanes);
      ((sums_[kRow][0] += *a * first, sums_[kRow][1] += *a * second, a += a_row), ...);
    }
  }

  void store(const TileProduct& product) const {
    for (int row = 0; row < kRows; ++row) {
      float* c = product.c + row * product.c_row;
      const auto* values = reinterpret_cast<const float*>(sums_[row]);
      if (product.accumulate) {
        for (std::int64_t k = 0; k < product.columns; ++k) c[k] += values[k];
      } else {
        std::memcpy(c, values, static_cast<std::size_t>(product.columns) * sizeof(float));
      }
    }
  }

  Vector sums_[kRows][kVectors] = {};
};

using Run = void (*)(const TileProduct&);

template <int kVectors, std::size_t... kRow>
constexpr auto tiles_of(std::index_sequence<kRow...>) {
  return std::array<Run, sizeof...(kRow)>{&Tile<static_cast<int>(kRow) + 1, kVectors>::run...};
}

constexpr auto kNarrow = tiles_of<1>(std::make_index_sequence<kTileRegisters>());
constexpr auto kWide = tiles_of<2>(std::make_index_sequence<kTileRegisters / 2>());

}  // namespace

void multiply(TileProduct product, std::int64_t rows) {
  const bool wide = product.columns > kLanes;
  const std::int64_t most = wide ? kTileRegisters / 2 : kTileRegisters;
  // Tiles of nearly equal height: a short last one would leave the multipliers waiting for its few sums.
  for (std::int64_t tiles = (rows + most - 1) / most; tiles > 0; --tiles) {
    const std::int64_t height = (rows + tiles - 1) / tiles;
    const auto index = static_cast<std::size_t>(height - 1);
    (wide ? kWide[index] : kNarrow[index])(product);
    product.a += height * product.a_row;
    product.c += height * product.c_row;
    rows -= height;
  }
}

}  // namespace tandem

// The filter of a convolution with stride 2 in the form that fits an image in blocks of 2 x 2 pixels.
#pragma once

#include <cstdint>

#include "core/host_device.h"
#include "core/shape.h"

namespace tandem {

// A convolution with stride 2 equals one with stride 1 over an image whose 2 x 2 neighbours lie in one pixel,
// side by side in its channels: [H / 2, W / 2, 4 C], channel (2 * (row % 2) + column % 2) * C + c. The filter
// [K, C, R, S] is cut into the same blocks, [K, R / 2, S / 2, stored_channels], both extents rounded up. So
// an odd filter has a row and a column that do not exist, and channels behind 4 C may fill up a kernel's
// vector: they are padding, and real pixels lie under the former. Their weights are zero and have to stay so.
struct BlockedFilter {
  static constexpr std::int64_t kBlock = 2;

  std::int64_t K = 0, C = 0, R = 0, S = 0;
  std::int64_t stored_channels = 0;  // >= 4 C

  TANDEM_HOST_DEVICE static constexpr std::int64_t blocks(std::int64_t extent) {
    return (extent + kBlock - 1) / kBlock;
  }
  Shape stored() const { return {K, blocks(R), blocks(S), stored_channels}; }

  // Where weight [k, c, r, s] lies in the stored filter.
  std::int64_t index_of(std::int64_t k, std::int64_t c, std::int64_t r, std::int64_t s) const {
    const auto block = (k * blocks(R) + r / kBlock) * blocks(S) + s / kBlock;
    return block * stored_channels + (r % kBlock * kBlock + s % kBlock) * C + c;
  }

  // Whether the stored element at `index` is a weight of the canonical filter.
  TANDEM_HOST_DEVICE constexpr bool is_weight(std::int64_t index) const {
    const auto channel = index % stored_channels;
    const auto block = index / stored_channels;
    const auto place = channel / C;
    const auto s = block % blocks(S) * kBlock + place % kBlock;
    const auto r = block / blocks(S) % blocks(R) * kBlock + place / kBlock;
    return place < kBlock * kBlock && r < R && s < S;
  }
};

}  // namespace tandem

// Small element-wise passes.
#pragma once

#include <array>
#include <cstdint>

#include "core/tensor_view.h"
#include "device/stream.h"
#include "ops/addends.h"
#include "params/blocked_filter.h"

namespace tandem {

// How the pixels of a normalised image lie.
enum class PixelLayout {
  Plain,         // [N, H, W, stored_channels]
  SpaceToDepth,  // in blocks of 2 x 2, as BlockedFilter says: [N, (H + 2 padding) / 2, …, stored_channels]
};

// y = (x / 255 - mean) / deviation per channel; padding around the image and the stored channels behind the
// real ones are zero.
struct ImageNormalizeSpec {
  std::int64_t N = 0, H = 0, W = 0, C = 0;
  std::int64_t stored_channels = 0;  // >= C, or >= 4 C in blocks
  PixelLayout layout = PixelLayout::Plain;
  std::int64_t padding = 0;  // on each side; with SpaceToDepth only
  DType dtype = DType::F32;
  std::array<float, 4> mean{};
  std::array<float, 4> deviation{1, 1, 1, 1};

  bool in_blocks() const { return layout == PixelLayout::SpaceToDepth; }
  std::int64_t stored_rows() const { return in_blocks() ? BlockedFilter::blocks(H + 2 * padding) : H; }
  std::int64_t stored_columns() const { return in_blocks() ? BlockedFilter::blocks(W + 2 * padding) : W; }
  Shape stored() const { return {N, stored_rows(), stored_columns(), stored_channels}; }
};

class ImageNormalize {
 public:
  virtual ~ImageNormalize() = default;
  virtual void forward(Stream& stream, TensorView images,
                       TensorView y) = 0;  // u8 [N,H,W,C] -> spec.stored()
};

class Elementwise {
 public:
  virtual ~Elementwise() = default;
  virtual void add(Stream& stream, Addends x, TensorView y) = 0;  // y = first + second; y may be either
  virtual void cast(Stream& stream, TensorView from, TensorView to) = 0;  // any float dtype to any other
  // Zeroes what is no weight in a gradient of shape filter.stored(), fp32 or 16-bit.
  virtual void zero_padding(Stream& stream, const BlockedFilter& filter, TensorView gradient) = 0;
};

}  // namespace tandem

// Sliding a bank of filters over an image: what the three passes of a convolution have in common.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem {

// out[p,q,k] = sum over r, s, c of image[p * stride + r + origin_h, q * stride + s + origin_w, c] *
// w[r,s,c,k] where the image is zero outside of H x W.
struct Correlation {
  std::int64_t H = 0, W = 0, C = 0;
  std::int64_t P = 0, Q = 0, K = 0;
  std::int64_t R = 0, S = 0, stride = 1;
  std::int64_t origin_h = 0, origin_w = 0;

  std::int64_t taps() const { return R * S * C; }
};

// The taps of a block of output rows, in memory: tap (run, t) of position (p, q) is
//   data[p * row_step + q * position_step + run * run_step + t], t < run_length.
struct Taps {
  const float* data = nullptr;
  std::ptrdiff_t row_step = 0, position_step = 0, run_step = 0;
  std::int64_t runs = 0, run_length = 0;
};

// Reads an image in blocks of output rows that stay in the second-level cache, so that neither the image with
// its border nor a table of patches ever exists as a whole. Immutable.
class BlockReader {
 public:
  explicit BlockReader(const Correlation& shape);

  std::int64_t rows_per_block() const { return rows_; }
  std::int64_t scratch_floats() const;

  // The taps of output rows [begin, end), at most rows_per_block(): in `image` [H,W,C] itself where no tap
  // lies outside of it, else in `scratch`, where they are written.
  Taps read(const float* image, std::int64_t begin, std::int64_t end, float* scratch) const;

 private:
  std::int64_t width() const { return (shape_.Q - 1) * shape_.stride + shape_.S; }
  std::int64_t input_rows(std::int64_t rows) const { return (rows - 1) * shape_.stride + shape_.R; }
  void copy_pixels(const float* image, std::int64_t h, std::int64_t w, std::int64_t count, float* to) const;

  Correlation shape_;
  bool bordered_;
  std::int64_t rows_ = 1;
};

// Filters and their gradients are kept as strips of up to kStripWidth output channels, each [taps, width of
// the strip]; channels are padded to whole vectors. This is the number of floats of all strips.
std::int64_t strip_floats(const Correlation& shape);

// Where one image's output goes: element (p, q, k) is data[p * row_step + q * position_step + k].
struct Positions {
  float* data = nullptr;
  std::ptrdiff_t row_step = 0, position_step = 0;
};

// Writes the output of one image; `filters` are strips.
void correlate(const Correlation& shape, const BlockReader& reader, const float* image, const float* filters,
               Positions out, float* scratch);

// Adds one image's part of the filters' gradient to `filters`, in strips. `d_out` is [P,Q,K], readable up to
// the end of the vector that holds its last element.
void accumulate_filters(const Correlation& shape, const BlockReader& reader, const float* image,
                        const float* d_out, float* filters, float* scratch);

}  // namespace tandem

#include "ops/cpu/correlation.h"

#include <algorithm>
#include <cstring>

#include "ops/cpu/tile_product.h"

namespace tandem {
namespace {

// A block's taps and outputs: 128 KiB, a quarter of the smallest second-level cache in use; filters and the
// hardware's prefetches need the rest.
constexpr std::int64_t kBlockFloats = 32 * 1024;

void copy_floats(float* to, const float* from, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

// Positions that follow one another evenly even across rows are one long row: fuller tiles.
struct Grid {
  std::int64_t rows = 0, columns = 0;
};
Grid grid_of(std::int64_t rows, std::int64_t columns, bool seamless) {
  return seamless ? Grid{1, rows * columns} : Grid{rows, columns};
}

}  // namespace

BlockReader::BlockReader(const Correlation& shape)
    : shape_(shape),
      bordered_(shape.origin_h < 0 || shape.origin_w < 0 || shape.origin_h + input_rows(shape.P) > shape.H ||
                shape.origin_w + width() > shape.W) {
  const std::int64_t per_row = shape.stride * width() * shape.C + shape.Q * shape.K;
  const std::int64_t most = std::clamp<std::int64_t>(kBlockFloats / per_row, 1, shape.P);
  const std::int64_t blocks = (shape.P + most - 1) / most;
  rows_ = (shape.P + blocks - 1) / blocks;  // equal blocks
}

std::int64_t BlockReader::scratch_floats() const {
  return bordered_ ? input_rows(rows_) * width() * shape_.C : 0;
}

// Pixels w to w + count of image row h, zero where the image ends.
void BlockReader::copy_pixels(const float* image, std::int64_t h, std::int64_t w, std::int64_t count,
                              float* to) const {
  const bool row_exists = h >= 0 && h < shape_.H;
  const std::int64_t first = row_exists ? std::clamp<std::int64_t>(w, 0, shape_.W) : w;
  const std::int64_t last = row_exists ? std::clamp<std::int64_t>(w + count, first, shape_.W) : w;
  const std::int64_t before = std::min(first - w, count);
  std::fill_n(to, before * shape_.C, 0.0f);
  if (last > first) {
    copy_floats(to + before * shape_.C, image + (h * shape_.W + first) * shape_.C, (last - first) * shape_.C);
  }
  std::fill(to + (before + last - first) * shape_.C, to + count * shape_.C, 0.0f);
}

Taps BlockReader::read(const float* image, std::int64_t begin, std::int64_t end, float* scratch) const {
  const Correlation& s = shape_;
  const std::int64_t top = begin * s.stride + s.origin_h;
  const std::int64_t row_floats = (bordered_ ? width() : s.W) * s.C;
  if (bordered_) {
    for (std::int64_t h = 0; h < input_rows(end - begin); ++h) {
      copy_pixels(image, top + h, s.origin_w, width(), scratch + h * row_floats);
    }
  }
  const float* data = bordered_ ? scratch : image + top * row_floats + s.origin_w * s.C;
  return {data, s.stride * row_floats, s.stride * s.C, row_floats, s.R, s.S * s.C};
}

std::int64_t strip_floats(const Correlation& shape) {
  return shape.taps() * whole_vectors(shape.K);
}

void correlate(const Correlation& shape, const BlockReader& reader, const float* image, const float* filters,
               Positions out, float* scratch) {
  for (std::int64_t begin = 0; begin < shape.P; begin += reader.rows_per_block()) {
    const std::int64_t end = std::min(begin + reader.rows_per_block(), shape.P);
    const Taps taps = reader.read(image, begin, end, scratch);
    const bool seamless =
        taps.row_step == shape.Q * taps.position_step && out.row_step == shape.Q * out.position_step;
    const Grid grid = grid_of(end - begin, shape.Q, seamless);
    for (std::int64_t k = 0; k < shape.K; k += kStripWidth) {
      const std::int64_t columns = std::min<std::int64_t>(kStripWidth, shape.K - k);
      const std::int64_t strip_width = whole_vectors(columns);
      for (std::int64_t row = 0; row < grid.rows; ++row) {
        multiply({.a = taps.data + row * taps.row_step,
                  .a_row = taps.position_step,
                  .a_segment = taps.run_step,
                  .a_step = 1,
                  .b = filters + k * shape.taps(),
                  .b_segment = taps.run_length * strip_width,
                  .b_step = strip_width,
                  .segments = taps.runs,
                  .length = taps.run_length,
                  .c = out.data + (begin + row) * out.row_step + k,
                  .c_row = out.position_step,
                  .columns = columns},
                 grid.columns);
      }
    }
  }
}

void accumulate_filters(const Correlation& shape, const BlockReader& reader, const float* image,
                        const float* d_out, float* filters, float* scratch) {
  for (std::int64_t begin = 0; begin < shape.P; begin += reader.rows_per_block()) {
    const std::int64_t end = std::min(begin + reader.rows_per_block(), shape.P);
    const Taps taps = reader.read(image, begin, end, scratch);
    const Grid grid = grid_of(end - begin, shape.Q, taps.row_step == shape.Q * taps.position_step);
    for (std::int64_t k = 0; k < shape.K; k += kStripWidth) {
      const std::int64_t columns = std::min<std::int64_t>(kStripWidth, shape.K - k);
      const std::int64_t strip_width = whole_vectors(columns);
      for (std::int64_t run = 0; run < taps.runs; ++run) {
        multiply({.a = taps.data + run * taps.run_step,
                  .a_row = 1,
                  .a_segment = taps.row_step,
                  .a_step = taps.position_step,
                  .b = d_out + begin * shape.Q * shape.K + k,
                  .b_segment = shape.Q * shape.K,
                  .b_step = shape.K,
                  .segments = grid.rows,
                  .length = grid.columns,
                  .c = filters + k * shape.taps() + run * taps.run_length * strip_width,
                  .c_row = strip_width,
                  .columns = columns,
                  .accumulate = true},
                 taps.run_length);
      }
    }
  }
}

}  // namespace tandem

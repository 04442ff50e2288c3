#include "params/parameter.h"

#include "params/blocked_filter.h"

namespace tandem {
namespace {

// A canonical matrix whose stored rows may be more or longer: the extra ones are padding.
std::int64_t padded_index(const Shape& canonical, const Shape& stored, std::int64_t index) {
  std::int64_t stored_at = 0;
  std::int64_t stride = 1;
  for (int axis = canonical.rank() - 1; axis >= 0; --axis) {
    stored_at += index % canonical[axis] * stride;
    index /= canonical[axis];
    stride *= stored[axis];
  }
  return stored_at;
}

}  // namespace

std::int64_t stored_index(const ParameterSpec& spec, std::int64_t i) {
  if (spec.packing == Packing::None) return padded_index(spec.canonical, spec.stored, i);
  // Canonical [K, C, R, S].
  const auto columns = spec.canonical[3];
  const auto rows = spec.canonical[2];
  const auto channels = spec.canonical[1];
  const auto s = i % columns;
  const auto r = i / columns % rows;
  const auto c = i / (columns * rows) % channels;
  const auto k = i / (columns * rows * channels);
  if (spec.packing == Packing::SpaceToDepth) {
    return BlockedFilter{spec.canonical[0], channels, rows, columns, spec.stored[3]}.index_of(k, c, r, s);
  }
  // Krsc: stored [K, R, S, C'] with C' >= C.
  return ((k * rows + r) * columns + s) * spec.stored[3] + c;
}

}  // namespace tandem

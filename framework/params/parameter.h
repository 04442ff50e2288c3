// What a layer says of a parameter, before any memory exists.
#pragma once

#include <compare>
#include <string>

#include "core/dtype.h"
#include "core/shape.h"

namespace tandem {

// Names a parameter of one model: an index in the order of declaration.
struct ParamId {
  int index = -1;
  auto operator<=>(const ParamId&) const = default;
};

// Names a buffer of one model: state that is saved but has no gradient, such as running statistics. Always
// fp32.
struct BufferId {
  int index = -1;
  auto operator<=>(const BufferId&) const = default;
};

// First values, drawn from Philox by (seed, parameter index, element): the same for any rank count and
// backend.
struct Initializer {
  enum class Kind { Constant, Normal, Uniform };
  Kind kind = Kind::Constant;
  float scale = 0.0f;  // the constant; the standard deviation; the bound of U(-scale, scale)

  static Initializer constant(float value) { return {Kind::Constant, value}; }
  static Initializer normal(float deviation) { return {Kind::Normal, deviation}; }
  static Initializer uniform(float bound) { return {Kind::Uniform, bound}; }
};

// Parameters that share an optimizer treatment. Norm is everything one-dimensional that usually has no decay:
// scales and biases of normalisations, biases of other layers.
enum class OptimizerGroup { Weight, NormAndBias };

// How a tensor lies in memory against its canonical (PyTorch's) order of axes.
enum class Packing {
  None,          // as it is
  Krsc,          // canonical [K, C, R, S] lies as [K, R, S, C]
  SpaceToDepth,  // canonical [K, C, R, S] lies as [K, R / 2, S / 2, 4 C], rounded up: see BlockedFilter
};

struct ParameterSpec {
  std::string name;  // full path, "layer1.0.conv1.weight"
  Shape canonical;   // what checkpoints and counts see
  Shape stored;      // what kernels see; may be padded, padding has zero gradient
  Packing packing = Packing::None;
  DType compute = DType::F32;  // what kernels read: F32 (the master itself) or the 16-bit working copy
  OptimizerGroup group = OptimizerGroup::Weight;
  Initializer initializer;
};

struct BufferSpec {
  std::string name;
  Shape shape;
  float initial = 0.0f;
};

// Where each canonical element lies: stored_index(spec, i) for the i-th canonical element in row-major order.
std::int64_t stored_index(const ParameterSpec& spec, std::int64_t canonical_index);

}  // namespace tandem

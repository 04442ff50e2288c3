// What a dry run found out; all that execution needs to know.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "layers/flow.h"
#include "params/parameter.h"

namespace tandem {

// A write leaves nothing of what was there. An update changes it in place; of a tensor that is only updated,
// it is scratch.
enum class Access { Read, Write, Update };

// Training runs all ops; evaluation runs those of the forward pass, in less memory of the same arena.
enum class Mode { Train, Evaluate };

struct PlannedTensor {
  std::string name;
  Shape shape;
  DType dtype;
  int storage;  // tensors that are views of one another share it
};

// A stretch of memory and where it lies. Nothing may be assumed of its contents before the first write.
struct Storage {
  ByteCount bytes;
  bool external = false;                  // given at each execution, not in the arena
  std::optional<ByteCount> train_offset;  // none: never used in that mode, or external
  std::optional<ByteCount> evaluate_offset;
};

struct TensorUse {
  TensorId tensor;
  Access access;
};
inline TensorUse reads(TensorId tensor) {
  return {tensor, Access::Read};
}
inline TensorUse writes(TensorId tensor) {
  return {tensor, Access::Write};
}
inline TensorUse updates(TensorId tensor) {
  return {tensor, Access::Update};
}  // in place, or scratch

// The uses of one op. Their order within the op means nothing.
using OpUses = std::vector<TensorUse>;

struct Plan {
  std::vector<PlannedTensor> tensors;
  std::vector<Storage> storages;
  std::vector<OpUses> ops;      // in the order of execution
  std::size_t forward_ops = 0;  // ops [0, forward_ops) are the forward pass
  ByteCount arena_bytes;
  // Of matrix products, convolutions and attention in a training pass over one micro-batch: what the model
  // needs, not what a kernel does. Attention counts as if it were not causal, as in the appendix of Chowdhery
  // et al., "PaLM", 2022; work that is done anew to save memory does not count. The rest of a model is small
  // beside it.
  std::int64_t multiply_adds = 0;

  std::vector<std::string> recomputed;  // blocks whose forward pass runs again, in the order of backward

  std::size_t ops_in(Mode mode) const { return mode == Mode::Train ? ops.size() : forward_ops; }

  std::vector<ParameterSpec> parameters;
  std::vector<BufferSpec> buffers;
  std::vector<ParamId> gradient_writes;  // in order; a tied weight stands here more than once

  std::vector<ParamId> ready_order() const;  // parameters by their last gradient write
  std::vector<int> gradient_uses() const;    // writes per parameter
  // By storage: whether values in it live from one op to the next. Not so where ops only use it as scratch.
  std::vector<bool> holds_values() const;
  ByteCount largest_scratch() const;
};

// Gives every storage an offset such that storages alive at the same time do not overlap. A life of a storage
// goes from an op that writes it to the last one that uses it before the next such op: what is written anew
// was dead before. Largest first, each at the lowest offset that is free during its lives (the "greedy by
// size" order of Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020,
// section 5.2).
void assign_memory(Plan& plan);

}  // namespace tandem

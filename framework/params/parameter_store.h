// The memory of all parameters: a few flat arrays with one layout.
#pragma once

#include <string>
#include <vector>

#include "core/tensor_view.h"
#include "device/device.h"
#include "params/parameter_layout.h"

namespace tandem {

struct ParameterStoreOptions {
  DType working = DType::F32;   // what kernels read of Weight parameters; F32: the master itself, no copy
  DType gradient = DType::F32;  // the reduce dtype: what the all-reduce sends
  int optimizer_states = 0;     // flat fp32 arrays for the optimizer (momentum; first and second moment)
  bool micro_gradient_sums = false;  // an fp32 array to add micro-gradients in, where `gradient` is 16-bit
  Allocator* gradient_allocator = nullptr;  // null: the device's; else a communication library's
};

// The bytes of a store's arrays, by what they are for.
struct ParameterMemory {
  ByteCount weights;    // masters, working copy and buffers
  ByteCount gradients;  // with the sums of micro-gradients
  ByteCount optimizer;
  ByteCount total() const { return weights + gradients + optimizer; }
};
ParameterMemory parameter_memory(const ParameterLayout& layout, const std::vector<BufferSpec>& buffers,
                                 const ParameterStoreOptions& options);

// Owns the arrays, all zero at first; outlives every view. Arrays are plain device memory: who reads or
// writes them must be ordered by streams.
class ParameterStore {
 public:
  ParameterStore(Device& device, ParameterLayout layout, std::vector<BufferSpec> buffers,
                 const ParameterStoreOptions& options);

  const ParameterLayout& layout() const { return layout_; }
  const std::vector<BufferSpec>& buffer_specs() const { return buffer_specs_; }
  const ParameterStoreOptions& options() const { return options_; }

  // One parameter, in stored shape.
  TensorView master(ParamId id) const;     // fp32
  TensorView weight(ParamId id) const;     // what kernels read, in the parameter's compute dtype
  TensorView gradient(ParamId id) const;   // in the reduce dtype
  TensorView micro_sum(ParamId id) const;  // fp32; the gradient itself where that is fp32
  TensorView buffer(BufferId id) const;    // fp32

  // A stretch of all parameters, [elements].
  TensorView masters(FlatRange range) const;
  TensorView working(FlatRange range) const;  // empty where kernels read the master
  TensorView gradients(FlatRange range) const;
  TensorView optimizer_state(int which, FlatRange range) const;
  TensorView all_buffers() const;  // [elements] fp32, empty view if there are none
  FlatRange everything() const { return {ElementCount(0), layout_.total()}; }

  ByteCount bytes() const;  // of all arrays

  // First values of parameters and buffers, written through `stream` from host memory; returns when done.
  void initialize(std::uint64_t seed, Stream& stream);

 private:
  TensorView at(const Buffer& array, DType dtype, ParamId id) const;
  static TensorView part(const Buffer& array, DType dtype, FlatRange range);
  bool has_working_copy(ParamId id) const;

  Device* device_;
  ParameterLayout layout_;
  std::vector<BufferSpec> buffer_specs_;
  std::vector<ElementCount> buffer_offsets_;
  ElementCount buffer_total_;
  ParameterStoreOptions options_;
  Buffer master_;
  Buffer working_;
  Buffer gradient_;
  Buffer micro_sum_;
  std::vector<Buffer> states_;
  Buffer buffers_;
};

}  // namespace tandem

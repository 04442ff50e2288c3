// Times candidates for one piece of work and says which is the fastest.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "core/tensor_view.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_stream.h"

namespace tandem {

// Memory as large as the real thing, filled with random numbers, in as many copies as make caching between
// calls unlikely (kept few where operands are large).
class TuningOperands {
 public:
  struct Operand {
    ByteCount bytes;
    DType fill = DType::F32;  // filled as this type; other types than floats are zeroed
    bool shared = false;      // one copy for all iterations: workspaces
  };

  void* at(std::size_t operand, int iteration) const;

 private:
  friend class Tuner;
  struct Memory {
    std::vector<Buffer> copies;
  };
  std::vector<Memory> operands_;
};

// Blocks the host: used while ops are made, never in a step. Candidates are timed in interleaved rounds, so
// that a change of clocks meets them all, and each counts with its median round. All rounds run back to back:
// a GPU that rests in between runs at clocks that no training step sees. Before, a first sample of each sorts
// out what is far from the best.
class Tuner {
 public:
  explicit Tuner(CudaDevice& device) : device_(device), stream_(device.ordinal(), StreamRole::Compute) {}

  CudaStream& stream() { return stream_; }

  // Nothing where the GPU has not enough memory free: then there is nothing to time with.
  std::unique_ptr<TuningOperands> operands(const std::vector<TuningOperands::Operand>& wanted);

  // launch(candidate, iteration) enqueues one call on stream() and throws Error if it cannot: that candidate
  // is out.
  using Launch = std::function<void(std::size_t, int)>;

  // Returns an index below `candidates`. Throws Error if all are out.
  std::size_t fastest(std::size_t candidates, const Launch& launch);

 private:
  double first_milliseconds(const std::function<void(int)>& launch);
  std::vector<double> medians(const std::vector<double>& estimates, const Launch& launch);

  CudaDevice& device_;
  CudaStream stream_;
};

}  // namespace tandem

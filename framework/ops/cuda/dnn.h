// cuDNN behind a small face: the library's headers are large, so only dnn.cpp includes them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>

#include "core/tensor_view.h"
#include "device/stream.h"
#include "ops/attention.h"
#include "ops/conv2d.h"

namespace tandem {

class CudaContext;

// One operand of a plan: which, and where it lies.
struct DnnOperand {
  std::int64_t id;
  void* memory;
};

// One built execution plan. Immutable; ops of equal specs share one.
class DnnPlan {
 public:
  struct Built;  // cuDNN's graph
  explicit DnnPlan(std::unique_ptr<Built> built);
  ~DnnPlan();

  ByteCount workspace_bytes() const;
  // Enqueues. Memory must be aligned to 16 bytes.
  void run(Stream& stream, std::initializer_list<DnnOperand> operands, void* workspace) const;

 private:
  std::unique_ptr<Built> built_;
};

enum class ConvDirection { Forward, BackwardInput, BackwardWeight };

// The ids of operands: what a direction reads, then what it writes.
struct ConvOperand {
  static constexpr std::int64_t kX = 1, kW = 2, kY = 3;  // or the gradient of each
};
struct AttentionOperand {
  static constexpr std::int64_t kQ = 1, kK = 2, kV = 3, kOut = 4, kStatistics = 5;
  static constexpr std::int64_t kDOut = 6, kDQ = 7, kDK = 8, kDV = 9;
};

// Owns the cuDNN handle. Making a plan asks cuDNN's heuristics (modes A and FALLBACK), times a bounded number
// of candidates (convolutions only: SDPA's first one is the fastest) and remembers the winner in the plan
// cache. All throw Error with the problem and cuDNN's reason.
class DnnLibrary {
 public:
  DnnLibrary();
  ~DnnLibrary();
  static std::int64_t version();  // of the loaded library: 91900 for 9.19.0

  // `weight_gradient`: dtype of dw, for BackwardWeight only.
  std::shared_ptr<const DnnPlan> conv(CudaContext& context, const Conv2dSpec& spec, ConvDirection direction,
                                      DType weight_gradient);
  std::shared_ptr<const DnnPlan> attention(CudaContext& context, const AttentionSpec& spec, bool backward);

 private:
  struct Handle;
  struct Problem;
  std::shared_ptr<const DnnPlan> make(CudaContext& context, const Problem& problem);

  std::unique_ptr<Handle> handle_;
  std::map<std::string, std::weak_ptr<const DnnPlan>> plans_;  // by problem
};

}  // namespace tandem

// The end of a residual block whose shortcut is normalised too.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "layers/layer.h"
#include "layers/norm_parameters.h"

namespace tandem {

struct DualNormOptions {
  NormStatistics statistics = NormStatistics::Batch;
  bool zero_scale = false;                // of branch 0, as in NormOptions
  std::array<std::string, 2> names = {};  // below which each branch's parameters are
};

// x [..., C] and shortcut of the same shape -> relu(norm(x) + norm(shortcut)). Two inputs, so it is no Layer;
// it is planned and executed as one. Parameters of each branch as NormLayer's.
class DualNormLayer final {
 public:
  explicit DualNormLayer(const DualNormOptions& options) : options_(options) {}

  Flow plan_forward(Planner& plan, TensorId x, TensorId shortcut);
  // The gradients of x and of the shortcut.
  std::array<TensorId, 2> plan_backward(Planner& plan, Flow dy);
  void forward(Context& context);
  void backward(Context& context);

 private:
  DualBatchNorm::Branches branches(Context& context) const;
  TensorView as_matrix(TensorView view) const { return view.empty() ? view : view.reshaped(matrix_); }

  DualNormOptions options_;
  std::unique_ptr<DualBatchNorm> op_;
  std::array<NormParameters, 2> parameters_;
  Shape matrix_;  // [rows, C]: what the op sees
  std::array<TensorId, 2> x_, dx_;
  TensorId y_, saved_, forward_workspace_, backward_workspace_;
  Flow dy_;
};

}  // namespace tandem

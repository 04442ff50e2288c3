// A network with its input and its loss: what the trainer trains.
#pragma once

#include <cstdint>
#include <memory>

#include "layers/layer.h"
#include "layers/loss_layer.h"

namespace tandem {

// The fixed shape of one micro-batch.
struct ModelInput {
  DType dtype = DType::U8;   // U8 images or I32 tokens
  Shape shape;               // images [N, H, W, C]; tokens [B, T]
  std::int64_t targets = 0;  // rows of the loss: N, or B * T
  std::int64_t samples() const { return shape[0]; }
};

// Owns the layers. plan() once, then forward() and, in training, backward(), any number of times.
class Model {
 public:
  Model(ModelInput input, std::unique_ptr<Layer> body, std::unique_ptr<LossLayer> loss);

  void plan(Planner& plan);
  // The loss is part of forward(): it fills the step's results and, in training, turns logits into their
  // gradient.
  void forward(Context& context);
  void backward(Context& context);

  const ModelInput& input() const { return input_; }
  // Memory that the trainer binds before each pass.
  TensorId batch() const { return batch_; }      // as ModelInput says
  TensorId targets() const { return targets_; }  // [targets] i32
  TensorId positions() const {
    return positions_;
  }  // [N] i64: sample positions in the run, for dropout; else invalid

 private:
  ModelInput input_;
  std::unique_ptr<Layer> body_;
  std::unique_ptr<LossLayer> loss_;
  TensorId batch_, targets_, positions_;
};

}  // namespace tandem

// Images as the network sees them.
#pragma once

#include <array>
#include <memory>

#include "layers/layer.h"

namespace tandem {

// Per channel, of pixels scaled to [0, 1].
struct ImageInputOptions {
  std::array<float, 4> mean{};
  std::array<float, 4> deviation{1, 1, 1, 1};
  PixelLayout layout = PixelLayout::Plain;
  std::int64_t padding = 0;  // around images in blocks
};

// u8 [N,H,W,C] -> normalised [N,H,W,C] in the compute dtype, or in blocks, [N,H',W',4C] with channels filled
// up to whole vectors. The first layer: it has no gradient.
class ImageInput final : public Layer {
 public:
  explicit ImageInput(const ImageInputOptions& options) : options_(options) {}

  Flow plan_forward(Planner& plan, Flow images) override;
  Flow plan_backward(Planner&, Flow) override { return Flow::none(); }
  void forward(Context& context) override;
  void backward(Context&) override {}

 private:
  ImageInputOptions options_;
  std::unique_ptr<ImageNormalize> op_;
  TensorId images_, y_;
};

}  // namespace tandem

// The first convolution of a network for images.
#pragma once

#include <memory>

#include "layers/conv2d_layer.h"
#include "layers/image_input.h"

namespace tandem {

// Whether the convolution reads pixels or blocks of 2 x 2 (params/blocked_filter.h): the same function and
// parameter. An image's 3 channels make poor use of matrix units, a block's 12 better.
enum class ImageConv2dForm {
  AsTheBackendPrefers,
  Plain,
  SpaceToDepth,  // stride 2 and an odd kernel only
};

struct ImageConv2dOptions {
  ImageInputOptions input;  // its layout and padding follow from the form
  Conv2dOptions conv;
  ImageConv2dForm form = ImageConv2dForm::AsTheBackendPrefers;
};

// u8 [N,H,W,C] -> y [N,P,Q,K] of the normalised image. Parameter "weight" as Conv2dLayer's.
class ImageConv2dLayer final : public Layer {
 public:
  explicit ImageConv2dLayer(const ImageConv2dOptions& options) : options_(options) {}

  Flow plan_forward(Planner& plan, Flow images) override;
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

 private:
  ImageConv2dOptions options_;
  std::unique_ptr<ImageInput> input_;
  std::unique_ptr<Conv2dLayer> conv_;
};

}  // namespace tandem

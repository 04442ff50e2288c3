#include "layers/image_conv2d_layer.h"

namespace tandem {

Flow ImageConv2dLayer::plan_forward(Planner& plan, Flow images) {
  const Shape in = plan.shape(images.first);
  TANDEM_EXPECT(in.rank() == 4, "{} takes [N, H, W, C], got {}", plan.path("images"), in.to_string());
  auto input = options_.input;
  auto conv = options_.conv;
  const bool in_blocks =
      options_.form == ImageConv2dForm::SpaceToDepth ||
      (options_.form == ImageConv2dForm::AsTheBackendPrefers && conv.stride == BlockedFilter::kBlock &&
       conv.kernel % 2 == 1 && plan.ops().prefers_space_to_depth(in[3], plan.compute_dtype()));
  if (in_blocks) {
    input.layout = PixelLayout::SpaceToDepth;
    input.padding = conv.padding;
    conv.channels_in_blocks = in[3];
  }
  input_ = std::make_unique<ImageInput>(input);
  conv_ = std::make_unique<Conv2dLayer>(conv);
  return conv_->plan_forward(plan, input_->plan_forward(plan, images));
}

Flow ImageConv2dLayer::plan_backward(Planner& plan, Flow dy) {
  return conv_->plan_backward(plan, dy);
}

void ImageConv2dLayer::forward(Context& context) {
  input_->forward(context);
  conv_->forward(context);
}

void ImageConv2dLayer::backward(Context& context) {
  conv_->backward(context);
}

}  // namespace tandem

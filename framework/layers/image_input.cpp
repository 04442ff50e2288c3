#include "layers/image_input.h"

namespace tandem {

Flow ImageInput::plan_forward(Planner& plan, Flow images) {
  const Shape in = plan.shape(images.first);
  TANDEM_EXPECT(in.rank() == 4, "{} takes [N, H, W, C], got {}", plan.path("images"), in.to_string());
  constexpr std::int64_t kVector = 8;  // 16 bytes of a 16-bit type
  const bool in_blocks = options_.layout == PixelLayout::SpaceToDepth;
  const auto filled_up = (4 * in[3] + kVector - 1) / kVector * kVector;
  const ImageNormalizeSpec spec{.N = in[0],
                                .H = in[1],
                                .W = in[2],
                                .C = in[3],
                                .stored_channels = in_blocks ? filled_up : in[3],
                                .layout = options_.layout,
                                .padding = options_.padding,
                                .dtype = plan.compute_dtype(),
                                .mean = options_.mean,
                                .deviation = options_.deviation};
  op_ = plan.ops().make_image_normalize(spec);
  images_ = images.first;
  y_ = plan.tensor("normalised", spec.stored());
  plan.op({reads(images_), writes(y_)});
  return {.first = y_, .second = {}, .needs_gradient = false};
}

void ImageInput::forward(Context& context) {
  op_->forward(context.stream(), context.read(images_), context.write(y_));
}

}  // namespace tandem

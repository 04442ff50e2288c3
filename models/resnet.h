// Residual networks for images.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "layers/conv2d_layer.h"
#include "layers/dual_norm_layer.h"
#include "layers/image_conv2d_layer.h"
#include "layers/norm_layer.h"
#include "layers/sequential.h"

namespace tandem {

enum class ResidualKind {
  Basic,       // 3x3, 3x3
  Bottleneck,  // 1x1, 3x3, 1x1 to four times the channels
};

enum class ResNetStem {
  Small,     // 3x3 convolution
  ImageNet,  // 7x7 convolution with stride 2, 3x3 maximum with stride 2
};

enum class ResNetNorm {
  None,    // a channel-wise affine map in the place of each normalisation: same parameters, no statistics
  Frozen,  // running statistics, which stay as they are
  Batch,
};

// He, Zhang, Ren, Sun: "Deep residual learning for image recognition", CVPR 2016. The stride of a block sits
// on its first 3x3 convolution (v1.5, as torchvision), shortcuts that change the shape are 1x1 convolutions.
struct ResNetSpec {
  std::vector<std::int64_t> blocks;  // of each stage; stages behind the first halve the image
  ResidualKind block = ResidualKind::Basic;
  ResNetStem stem = ResNetStem::Small;
  std::int64_t stem_stride = 1;  // of the small stem
  ImageConv2dForm stem_form = ImageConv2dForm::AsTheBackendPrefers;
  std::int64_t width = 16;  // channels of the first stage, before a bottleneck's factor; stages double it
  std::int64_t classes = 10;
  ResNetNorm norm = ResNetNorm::Batch;
  bool zero_init_last_scale = false;
  ImageInputOptions input;
};

struct ResidualOptions {
  ResidualKind kind = ResidualKind::Basic;
  std::int64_t channels = 0;  // of the 3x3 convolutions
  std::int64_t stride = 1;
  ResNetNorm norm = ResNetNorm::Batch;
  bool zero_init_last_scale = false;

  std::int64_t out() const { return kind == ResidualKind::Bottleneck ? 4 * channels : channels; }
};

// relu(branch(x) + shortcut(x)). Parameters are named as torchvision's: "conv1", "bn1", …, "downsample.0",
// "downsample.1". The gradient is the sum of both ways, left to the layer before to add.
class ResidualBlock final : public Layer {
 public:
  // `in`: channels of x.
  ResidualBlock(const ResidualOptions& options, std::int64_t in);

  Flow plan_forward(Planner& plan, Flow x) override;
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

 private:
  void add(const Conv2dOptions& conv, const NormOptions& norm);
  Flow plan_end(Planner& plan, Flow branch, Flow x);

  struct Stage {
    std::unique_ptr<Conv2dLayer> conv;
    std::unique_ptr<NormLayer> norm;  // null of the last one where the block ends in both_norms_
  };
  std::vector<Stage> stages_;
  // The shortcut's convolution, and the norms of branch and shortcut in one; null: the shortcut is x itself.
  std::unique_ptr<Conv2dLayer> downsample_;
  std::unique_ptr<DualNormLayer> both_norms_;
  SingleTensor input_;
};

// u8 images [N,H,W,C] -> logits [N, classes].
std::unique_ptr<Layer> make_resnet(const ResNetSpec& spec);

}  // namespace tandem

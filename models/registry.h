// Models by name.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/gpt.h"
#include "models/model.h"
#include "models/resnet.h"

namespace tandem {

// What a configuration says of a model and of the data it is for. Which members count depends on the name:
//   resnet8, resnet20                                             width
//   resnet                                                        width, blocks, block, stem, stem_stride
//   resnet18, resnet34, resnet50, resnet101, resnet152            their shape is published
//   all residual networks                                         norm, zero_init_last_scale, classes, image,
//                                                                 image_mean, image_deviation,
//                                                                 label_smoothing
//   gpt                                                           layers, heads, channels
//   gpt2_124m, gpt2_350m, gpt2_774m, gpt2_1.5b, gpt3_1.3b         their shape is published
//   all transformers                                              context, vocab, padded_vocab, dropout,
//                                                                 seed, label_smoothing, recompute_blocks
struct ModelSpec {
  std::string name = "resnet8";

  std::int64_t width = 16;  // channels of the first stage
  std::vector<std::int64_t> blocks = {1, 1, 1};
  ResidualKind block = ResidualKind::Basic;
  ResNetStem stem = ResNetStem::Small;
  std::int64_t stem_stride = 1;
  ResNetNorm norm = ResNetNorm::Batch;
  bool zero_init_last_scale = false;
  std::int64_t classes = 10;
  std::array<std::int64_t, 3> image = {28, 28, 1};  // H, W, C
  std::array<float, 4> image_mean = {0.5f, 0.5f, 0.5f, 0.5f};
  std::array<float, 4> image_deviation = {0.25f, 0.25f, 0.25f, 0.25f};

  std::int64_t layers = 4, heads = 4, channels = 128;
  std::int64_t context = 128;
  std::int64_t vocab = 256;
  std::int64_t padded_vocab = 0;  // 0: as vocab
  float dropout = 0.0f;
  std::uint64_t seed = 0;  // of dropout masks
  bool recompute_blocks = false;

  float label_smoothing = 0.0f;
};

std::vector<std::string> model_names();

// Whether a model of this name can run blocks twice.
bool can_recompute(const ModelSpec& spec);

// The network without its loss: images [N,H,W,C] or tokens [B,T] to logits. Throws as make_model().
std::unique_ptr<Layer> make_body(const ModelSpec& spec);

// A model for micro-batches of so many samples, not planned yet. Throws InputError for an unknown name, for
// sizes that do not go together, and where blocks that cannot run twice are to be recomputed.
Model make_model(const ModelSpec& spec, std::int64_t micro_batch);

}  // namespace tandem

#include "trainer/model_setup.h"

#include "core/error.h"
#include "data/channel_statistics.h"

namespace tandem {
namespace {

ResNetNorm norm_of(ModelConfig::Norm norm) {
  switch (norm) {
    case ModelConfig::Norm::Batch:
      return ResNetNorm::Batch;
    case ModelConfig::Norm::None:
      return ResNetNorm::None;
    case ModelConfig::Norm::Frozen:
      return ResNetNorm::Frozen;
  }
  return ResNetNorm::Batch;
}

void expect_vocabulary(const TokenDataset& dataset, const ModelConfig& model) {
  if (dataset.vocabulary() <= model.vocab) return;
  throw InputError({.what = "the data have tokens that the model does not know",
                    .where = "model.vocab",
                    .expected = fmt::format("at least {}, the vocabulary of the data", dataset.vocabulary()),
                    .found = fmt::format("{}", model.vocab),
                    .advice = "raise model.vocab or choose another model"});
}

}  // namespace

ModelSpec model_spec(const RunConfig& config, const Datasets& datasets) {
  const auto& model = config.model;
  ModelSpec spec{.name = config_value(config, "model.name"),
                 .seed = static_cast<std::uint64_t>(config.seed),
                 .label_smoothing = static_cast<float>(config.train.label_smoothing)};
  if (model.is_gpt()) {
    expect_vocabulary(*datasets.tokens.train, model);
    spec.layers = model.layers;
    spec.heads = model.heads;
    spec.channels = model.channels;
    spec.context = model.context;
    spec.vocab = model.vocab;
    spec.padded_vocab = model.padded_vocab;
    spec.dropout = static_cast<float>(model.dropout);
    spec.recompute_blocks = config.train.recompute == TrainConfig::Recompute::Blocks;
    return spec;
  }
  const auto& images = *datasets.images.train;
  const auto statistics = channel_statistics(images);
  spec.image = {images.shape().height, images.shape().width, images.shape().channels};
  spec.classes = images.classes();
  spec.image_mean = statistics.mean;
  spec.image_deviation = statistics.deviation;
  spec.width = model.width;
  spec.blocks.assign(model.blocks.begin(), model.blocks.end());
  spec.block = model.block == ModelConfig::Block::Basic ? ResidualKind::Basic : ResidualKind::Bottleneck;
  spec.stem = model.stem == ModelConfig::Stem::Small ? ResNetStem::Small : ResNetStem::ImageNet;
  spec.norm = norm_of(model.norm);
  spec.zero_init_last_scale = model.zero_init_last_scale;
  return spec;
}

}  // namespace tandem

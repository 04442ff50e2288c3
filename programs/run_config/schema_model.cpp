// The table of keys, first part: what is trained, on what. A new key is a member in sections.h and an entry
// here.
#include "run_config/schema_builder.h"

namespace tandem {
namespace {

bool is_resnet(const RunConfig& c) {
  return !c.model.is_gpt();
}
bool is_gpt(const RunConfig& c) {
  return c.model.is_gpt();
}
bool is_free_resnet(const RunConfig& c) {
  return c.model.name == ModelConfig::Name::ResNet;
}
bool is_free_gpt(const RunConfig& c) {
  return c.model.name == ModelConfig::Name::Gpt;
}
bool has_free_width(const RunConfig& c) {
  using enum ModelConfig::Name;
  return c.model.name == ResNet8 || c.model.name == ResNet20 || c.model.name == ResNet;
}
bool reads_files(const RunConfig& c) {
  return !c.data.is_synthetic();
}
bool has_images(const RunConfig& c) {
  return !c.data.is_tokens();
}
bool makes_images(const RunConfig& c) {
  return c.data.kind == DataConfig::Kind::SyntheticImages;
}
bool has_free_classes(const RunConfig& c) {
  return makes_images(c) || c.data.kind == DataConfig::Kind::Idx;
}
bool splits_one_source(const RunConfig& c) {
  return c.data.is_tokens() && !c.data.is_synthetic();
}
void add_resnet_keys(SectionBuilder& model, ModelConfig& m) {
  model.key("width", integer(m.width, 1, 4096), "Channels of the first stage; each later stage doubles them.")
      .only_when(has_free_width, "model.name")
      .key("blocks", IntegerListType{&m.blocks, 1, 256, 1, 8}, "Residual blocks of each stage.")
      .only_when(is_free_resnet, "model.name")
      .key("stem",
           choice(m.stem, {{"small", ModelConfig::Stem::Small}, {"imagenet", ModelConfig::Stem::ImageNet}}),
           "First layers: one 3×3 convolution, or 7×7 with stride 2 and a pool.")
      .only_when(is_free_resnet, "model.name")
      .key("block",
           choice(m.block,
                  {{"basic", ModelConfig::Block::Basic}, {"bottleneck", ModelConfig::Block::Bottleneck}}),
           "Residual block: two 3×3 convolutions, or 1×1, 3×3, 1×1.")
      .only_when(is_free_resnet, "model.name")
      .key("norm",
           choice(m.norm, {{"batch", ModelConfig::Norm::Batch},
                           {"none", ModelConfig::Norm::None},
                           {"frozen", ModelConfig::Norm::Frozen}}),
           "Normalization: over the micro-batch of a rank, none, or with fixed statistics.")
      .only_when(is_resnet, "model.name")
      .key("zero_init_last_scale", flag(m.zero_init_last_scale), "Start each residual block as the identity.")
      .only_when(is_resnet, "model.name");
}

void add_gpt_keys(SectionBuilder& model, ModelConfig& m) {
  model.key("layers", integer(m.layers, 1, 1024), "Transformer blocks.")
      .only_when(is_free_gpt, "model.name")
      .key("heads", integer(m.heads, 1, 1024), "Attention heads; divides the channels.")
      .only_when(is_free_gpt, "model.name")
      .key("channels", integer(m.channels, 1, 65536), "Width of the residual stream.")
      .only_when(is_free_gpt, "model.name")
      .key("context", integer(m.context, 1, 1 << 20), "Tokens of one sample.")
      .unit("tokens")
      .only_when(is_gpt, "model.name")
      .default_note("128 (gpt), 1024 (gpt2_*), 2048 (gpt3_*)")
      .key("vocab", integer(m.vocab, 2, 1 << 24), "Different tokens; bytes of text are 256.")
      .unit("tokens")
      .only_when(is_gpt, "model.name")
      .default_note("256 (data.kind text), else 50257")
      .key("padded_vocab", integer(m.padded_vocab, 0, 1 << 24),
           "Rows kept for the vocabulary, for faster matrix shapes; 0: as many as tokens.")
      .unit("tokens")
      .only_when(is_gpt, "model.name")
      .key("dropout", number_below(m.dropout, 0, 1), "Probability with which an activation is dropped.")
      .only_when(is_gpt, "model.name");
}

}  // namespace

void add_model_keys(ConfigSchema& schema, ModelConfig& m) {
  using Model = ModelConfig::Name;
  SectionBuilder model(schema, "model", "What is trained.");
  model.key("name",
            choice(m.name, {{"resnet8", Model::ResNet8},
                            {"resnet20", Model::ResNet20},
                            {"resnet18", Model::ResNet18},
                            {"resnet34", Model::ResNet34},
                            {"resnet50", Model::ResNet50},
                            {"resnet101", Model::ResNet101},
                            {"resnet152", Model::ResNet152},
                            {"resnet", Model::ResNet},
                            {"gpt", Model::Gpt},
                            {"gpt2_124m", Model::Gpt2_124M},
                            {"gpt2_350m", Model::Gpt2_350M},
                            {"gpt2_774m", Model::Gpt2_774M},
                            {"gpt2_1.5b", Model::Gpt2_1_5B},
                            {"gpt3_1.3b", Model::Gpt3_1_3B}}),
            "A published shape, or one sized by the keys below: `resnet`, `gpt`.");
  add_resnet_keys(model, m);
  add_gpt_keys(model, m);
}

void add_data_keys(ConfigSchema& schema, DataConfig& d) {
  using Kind = DataConfig::Kind;
  SectionBuilder(schema, "data", "What it is trained on.")
      .key("kind",
           choice(d.kind, {{"fashion_mnist", Kind::FashionMnist},
                           {"idx", Kind::Idx},
                           {"cifar10", Kind::Cifar10},
                           {"synthetic_images", Kind::SyntheticImages},
                           {"text", Kind::Text},
                           {"tokens", Kind::Tokens},
                           {"synthetic_tokens", Kind::SyntheticTokens}}),
           "Format of the data; `text` is read byte by byte, synthetic data is made in memory.")
      .default_note("fashion_mnist, or text for a GPT")
      .key("path", TextType{&d.path}, "File or folder.")
      .only_when(reads_files, "data.kind")
      .default_note(
          "`/usr/share/datasets/fashion-mnist` (fashion_mnist), `/usr/share/common-licenses` (text), "
          "else it must be given")
      .key("limit", integer(d.limit, 0, kManySamples),
           "Samples to train on, from the first; 0: all there are.")
      .unit("samples")
      .default_note("65536 for synthetic data, else 0")
      .key("eval_limit", integer(d.eval_limit, 0, kManySamples), "Samples to evaluate on; 0: all there are.")
      .unit("samples")
      .default_note("4096 for synthetic data, else 0")
      .key("classes", integer(d.classes, 2, 1 << 20), "Different labels.")
      .only_when(has_free_classes, "data.kind")
      .key("image", IntegerListType{&d.image, 1, 4096, 3, 3},
           "Height, width and channels of a synthetic image.")
      .only_when(makes_images, "data.kind")
      .key("validation_fraction", number_inside(d.validation_fraction, 0, 1),
           "Part at the end of the text or tokens that is kept for evaluation.")
      .only_when(splits_one_source, "data.kind")
      .key("prefetch", integer(d.prefetch, 1, 64), "Batches prepared ahead of the step.")
      .unit("batches");
  SectionBuilder(schema, "data.augment", "Random changes to training images.")
      .key("crop_padding", integer(d.augment.crop_padding, 0, 256),
           "Pad by so much on each side, then cut out the old size at a random place; 0: off.")
      .unit("pixels")
      .only_when(has_images, "data.kind")
      .key("flip", flag(d.augment.flip), "Mirror every second image, at random.")
      .only_when(has_images, "data.kind");
}

}  // namespace tandem

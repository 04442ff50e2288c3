#include "models/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

#include "core/error.h"

namespace tandem {
namespace {

struct NamedResNet {
  const char* name;
  ResidualKind block;
  std::vector<std::int64_t> blocks;
};

// The first two are for small images; He et al. 2016, section 4.2 (which has ResNet-20 and not ResNet-8).
const std::vector<NamedResNet>& small_resnets() {
  static const std::vector<NamedResNet> kNets = {
      {"resnet8", ResidualKind::Basic, {1, 1, 1}},
      {"resnet20", ResidualKind::Basic, {3, 3, 3}},
  };
  return kNets;
}

// He et al. 2016, table 1.
const std::vector<NamedResNet>& imagenet_resnets() {
  static const std::vector<NamedResNet> kNets = {
      {"resnet18", ResidualKind::Basic, {2, 2, 2, 2}},
      {"resnet34", ResidualKind::Basic, {3, 4, 6, 3}},
      {"resnet50", ResidualKind::Bottleneck, {3, 4, 6, 3}},
      {"resnet101", ResidualKind::Bottleneck, {3, 4, 23, 3}},
      {"resnet152", ResidualKind::Bottleneck, {3, 8, 36, 3}},
  };
  return kNets;
}

struct NamedGpt {
  const char* name;
  std::int64_t layers, heads, channels;
};

// Radford et al. 2019, table 2; Brown et al. 2020, table 2.1, whose 24 heads of 128 channels do not fit 2,048
// channels: 16 do.
constexpr NamedGpt kGpts[] = {
    {"gpt2_124m", 12, 12, 768},  {"gpt2_350m", 24, 16, 1024}, {"gpt2_774m", 36, 20, 1280},
    {"gpt2_1.5b", 48, 25, 1600}, {"gpt3_1.3b", 24, 16, 2048},
};

std::vector<std::string> gpt_names() {
  std::vector<std::string> names;
  for (const auto& net : kGpts) names.emplace_back(net.name);
  names.emplace_back("gpt");
  return names;
}

template <class Nets>
auto find_named(const Nets& nets, const std::string& name) {
  return std::ranges::find_if(nets, [&](const auto& net) { return net.name == name; });
}

std::optional<ResNetSpec> resnet_spec(const ModelSpec& model) {
  ResNetSpec spec{.width = model.width,
                  .classes = model.classes,
                  .norm = model.norm,
                  .zero_init_last_scale = model.zero_init_last_scale,
                  .input = {.mean = model.image_mean, .deviation = model.image_deviation}};
  if (model.name == "resnet") {
    spec.blocks = model.blocks;
    spec.block = model.block;
    spec.stem = model.stem;
    spec.stem_stride = model.stem_stride;
    return spec;
  }
  if (const auto net = find_named(small_resnets(), model.name); net != small_resnets().end()) {
    spec.blocks = net->blocks;
    spec.block = net->block;
    return spec;
  }
  if (const auto net = find_named(imagenet_resnets(), model.name); net != imagenet_resnets().end()) {
    spec.blocks = net->blocks;
    spec.block = net->block;
    spec.stem = ResNetStem::ImageNet;
    spec.width = 64;
    return spec;
  }
  return std::nullopt;
}

std::optional<GptSpec> gpt_spec(const ModelSpec& model) {
  GptSpec spec{.layers = model.layers,
               .heads = model.heads,
               .channels = model.channels,
               .context = model.context,
               .vocabulary = model.vocab,
               .padded_vocabulary = model.padded_vocab,
               .dropout = model.dropout,
               .dropout_seed = model.seed,
               .recompute_blocks = model.recompute_blocks};
  if (model.name == "gpt") return spec;
  const auto net = find_named(kGpts, model.name);
  if (net == std::end(kGpts)) return std::nullopt;
  spec.layers = net->layers;
  spec.heads = net->heads;
  spec.channels = net->channels;
  return spec;
}

void expect_positive(const char* key, std::int64_t value) {
  if (value > 0) return;
  throw InputError({.what = "a size of the model is not positive",
                    .where = key,
                    .expected = "1 or more",
                    .found = fmt::format("{}", value),
                    .advice = fmt::format("set {} to a positive number", key)});
}

void expect_no_recompute(const ModelSpec& model) {
  if (!model.recompute_blocks) return;
  throw InputError({.what = fmt::format("the blocks of {} cannot run twice", model.name),
                    .where = "train.recompute",
                    .expected = fmt::format("none, or a model with it: {}", fmt::join(gpt_names(), ", ")),
                    .found = "blocks",
                    .advice = "delete train.recompute, or choose a smaller train.micro_batch"});
}

void check(const ResNetSpec& spec, const ModelSpec& model) {
  expect_positive("model.width", spec.width);
  expect_positive("model.stem_stride", spec.stem_stride);
  expect_positive("classes", spec.classes);
  for (const auto extent : model.image) expect_positive("image", extent);
  for (const auto blocks : spec.blocks) expect_positive("model.blocks", blocks);
  constexpr std::size_t kMaxStages = 8;
  if (!spec.blocks.empty() && spec.blocks.size() <= kMaxStages) return;
  throw InputError({.what = "a residual network has no stages, or too many",
                    .where = "model.blocks",
                    .expected = fmt::format("1 to {} numbers", kMaxStages),
                    .found = fmt::format("[{}]", fmt::join(spec.blocks, ", ")),
                    .advice = "give the blocks of each stage, as in [2, 2, 2, 2]"});
}

void check(const GptSpec& spec) {
  expect_positive("model.layers", spec.layers);
  expect_positive("model.heads", spec.heads);
  expect_positive("model.channels", spec.channels);
  expect_positive("model.context", spec.context);
  expect_positive("model.vocab", spec.vocabulary);
  if (spec.channels % spec.heads != 0) {
    throw InputError({.what = "the channels do not split evenly into heads",
                      .where = "model.heads",
                      .expected = fmt::format("a divisor of {} channels", spec.channels),
                      .found = fmt::format("{}", spec.heads),
                      .advice = "change model.heads or model.channels"});
  }
  if (spec.stored_vocabulary() < spec.vocabulary) {
    throw InputError({.what = "the padded vocabulary is smaller than the vocabulary",
                      .where = "model.padded_vocab",
                      .expected = fmt::format("{} or more, or 0 for no padding", spec.vocabulary),
                      .found = fmt::format("{}", spec.padded_vocabulary),
                      .advice = "round model.vocab up to a multiple of 128, or leave the key out"});
  }
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& net : small_resnets()) names.emplace_back(net.name);
  for (const auto& net : imagenet_resnets()) names.emplace_back(net.name);
  names.emplace_back("resnet");
  std::ranges::copy(gpt_names(), std::back_inserter(names));
  return names;
}

// A second forward pass of batch normalisation would count a batch twice in its running statistics.
bool can_recompute(const ModelSpec& model) {
  return gpt_spec(model).has_value();
}

std::unique_ptr<Layer> make_body(const ModelSpec& model) {
  if (const auto resnet = resnet_spec(model)) {
    expect_no_recompute(model);
    check(*resnet, model);
    return make_resnet(*resnet);
  }
  if (const auto gpt = gpt_spec(model)) {
    check(*gpt);
    return std::make_unique<Gpt>(*gpt);
  }
  throw InputError({.what = "there is no model of this name",
                    .where = "model.name",
                    .expected = fmt::format("one of {}", fmt::join(model_names(), ", ")),
                    .found = model.name,
                    .advice = "take a name from the list; resnet and gpt are sized by keys"});
}

Model make_model(const ModelSpec& model, std::int64_t micro_batch) {
  expect_positive("micro_batch", micro_batch);
  auto body = make_body(model);
  const auto loss = [&](std::int64_t classes) {
    return std::make_unique<LossLayer>(
        LossOptions{.classes = classes, .label_smoothing = model.label_smoothing});
  };
  if (gpt_spec(model)) {
    return Model({DType::I32, {micro_batch, model.context}, micro_batch * model.context}, std::move(body),
                 loss(model.vocab));
  }
  const auto& [height, width, channels] = model.image;
  return Model({DType::U8, {micro_batch, height, width, channels}, micro_batch}, std::move(body),
               loss(model.classes));
}

}  // namespace tandem

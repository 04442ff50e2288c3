#include "trainer/data_setup.h"

#include "core/error.h"
#include "data/byte_text.h"
#include "data/cifar10.h"
#include "data/fingerprint.h"
#include "data/idx.h"
#include "data/synthetic.h"
#include "data/token_file.h"

namespace tandem {
namespace {

std::unique_ptr<ImageDataset> synthetic_images(const RunConfig& config, std::int64_t samples,
                                               std::uint64_t seed) {
  const auto& data = config.data;
  return std::make_unique<SyntheticImages>(SyntheticImageOptions{
      .samples = samples,
      .shape = {.height = data.image[0], .width = data.image[1], .channels = data.image[2]},
      .classes = data.classes,
      .seed = seed});
}

std::unique_ptr<TokenDataset> synthetic_tokens(const RunConfig& config, std::int64_t samples,
                                               std::uint64_t seed) {
  return std::make_unique<SyntheticTokens>(SyntheticTokenOptions{.samples = samples,
                                                                 .sequence_length = config.model.context,
                                                                 .vocabulary = config.model.vocab,
                                                                 .seed = seed});
}

// Synthetic sets are as long as the limits say; without a limit as ImageNet's training and validation sets.
std::int64_t synthetic_train_samples(const DataConfig& data) {
  return data.limit > 0 ? data.limit : 1281167;
}
std::int64_t synthetic_held_out_samples(const DataConfig& data) {
  return data.eval_limit > 0 ? data.eval_limit : 50000;
}

template <class Dataset>
Sampler train_sampler(const Dataset& dataset, const RunConfig& config, const BatchGrid& grid) {
  return Sampler::training(first_samples(dataset.samples(), config.data.limit), grid,
                           static_cast<std::uint64_t>(config.seed));
}

// Evaluation runs the planned micro-batch without accumulation.
template <class Dataset>
Sampler evaluation_sampler(const Dataset& dataset, const RunConfig& config, const BatchGrid& grid) {
  return Sampler::evaluation(first_samples(dataset.samples(), config.data.eval_limit),
                             {.micro_batch = grid.micro_batch, .ranks = grid.ranks});
}

template <class Dataset>
std::string split_facts(const SplitDataset<Dataset>& split) {
  if (split.train == nullptr) return {};
  auto facts = fmt::format("training data: {}\n", fingerprint(*split.train));
  if (split.held_out != nullptr) facts += fmt::format("evaluation data: {}\n", fingerprint(*split.held_out));
  return facts;
}

}  // namespace

Datasets open_datasets(const RunConfig& config) {
  const auto& data = config.data;
  const auto seed = static_cast<std::uint64_t>(config.seed);
  switch (data.kind) {
    case DataConfig::Kind::FashionMnist:
    case DataConfig::Kind::Idx:
      return {.images = open_idx_directory(data.path, data.classes)};
    case DataConfig::Kind::Cifar10:
      return {.images = open_cifar10_directory(data.path)};
    case DataConfig::Kind::SyntheticImages:
      return {.images = {synthetic_images(config, synthetic_train_samples(data), seed),
                         synthetic_images(config, synthetic_held_out_samples(data), seed + 1)}};
    case DataConfig::Kind::Text:
      return {.tokens = open_byte_text(data.path, {.sequence_length = config.model.context,
                                                   .validation_fraction = data.validation_fraction})};
    case DataConfig::Kind::Tokens:
      return {.tokens = {open_token_file(data.path, config.model.context), nullptr}};
    case DataConfig::Kind::SyntheticTokens:
      return {.tokens = {synthetic_tokens(config, synthetic_train_samples(data), seed),
                         synthetic_tokens(config, synthetic_held_out_samples(data), seed + 1)}};
  }
  TANDEM_EXPECT(false, "a data set of no kind");
  return {};
}

std::string data_facts(const Datasets& datasets) {
  return split_facts(datasets.images) + split_facts(datasets.tokens);
}

Batches make_batches(const RunConfig& config, const Datasets& datasets, const BatchSizes& sizes, int rank,
                     int world_size) {
  const BatchGrid grid{
      .micro_batch = sizes.micro_batch, .ranks = world_size, .micro_steps = sizes.accumulation};
  if (datasets.images.train != nullptr) {
    const auto& [train, held_out] = datasets.images;
    std::optional<Augmentation> augmentation;
    const auto& augment = config.data.augment;
    if (augment.crop_padding > 0 || augment.flip) {
      augmentation = {.options = {.padding = augment.crop_padding, .flip = augment.flip},
                      .seed = static_cast<std::uint64_t>(config.seed)};
    }
    Batches batches{.train_sampler = train_sampler(*train, config, grid)};
    batches.train = std::make_unique<ImageBatches>(*train, batches.train_sampler, rank, augmentation);
    if (held_out != nullptr) {
      batches.evaluation_sampler = evaluation_sampler(*held_out, config, grid);
      batches.evaluation = std::make_unique<ImageBatches>(*held_out, *batches.evaluation_sampler, rank);
    }
    return batches;
  }
  const auto& [train, held_out] = datasets.tokens;
  Batches batches{.train_sampler = train_sampler(*train, config, grid)};
  batches.train = std::make_unique<TokenBatches>(*train, batches.train_sampler, rank);
  if (held_out != nullptr) {
    batches.evaluation_sampler = evaluation_sampler(*held_out, config, grid);
    batches.evaluation = std::make_unique<TokenBatches>(*held_out, *batches.evaluation_sampler, rank);
  }
  return batches;
}

}  // namespace tandem

#include "data/batch_source.h"

#include <algorithm>
#include <span>
#include <vector>

#include "core/error.h"

namespace tandem {
namespace {

void check_source(std::int64_t available, const Sampler& sampler, std::int64_t rank) {
  TANDEM_EXPECT(sampler.samples() <= available, "the sampler orders {} samples, the data set has {}",
                sampler.samples(), available);
  TANDEM_EXPECT(rank >= 0 && rank < sampler.grid().ranks, "rank {} of {}", rank, sampler.grid().ranks);
}

void check_format(const BatchView& out, const BatchFormat& format) {
  TANDEM_EXPECT(out.format() == format,
                "the batch is {} {} with targets {}, its memory {} {} with targets {}",
                name_of(format.input_dtype), format.inputs.to_string(), format.targets.to_string(),
                name_of(out.inputs.dtype()), out.inputs.shape().to_string(), out.targets.shape().to_string());
}

std::vector<std::int64_t> rank_indices(const Sampler& sampler, std::int64_t step, std::int64_t rank) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(sampler.grid().rank_batch()));
  sampler.indices(step, rank, rows);
  return rows;
}

}  // namespace

ImageBatches::ImageBatches(const ImageDataset& dataset, const Sampler& sampler, std::int64_t rank,
                           std::optional<Augmentation> augmentation)
    : dataset_(dataset), sampler_(sampler), rank_(rank), augmentation_(augmentation) {
  check_source(dataset.samples(), sampler, rank);
}

BatchFormat ImageBatches::format() const {
  const ImageShape shape = dataset_.shape();
  const std::int64_t rows = sampler_.grid().rank_batch();
  return {DType::U8, {rows, shape.height, shape.width, shape.channels}, {rows}};
}

std::int64_t ImageBatches::fill(std::int64_t step, const BatchView& out) const {
  check_format(out, format());
  const ImageShape shape = dataset_.shape();
  const std::int64_t epoch = sampler_.epoch_of(step);
  std::uint8_t* pixels = out.inputs.data<std::uint8_t>();
  std::int32_t* target = out.targets.data<std::int32_t>();
  std::int64_t valid_targets = 0;
  for (const std::int64_t index : rank_indices(sampler_, step, rank_)) {
    const std::span image(pixels, static_cast<std::size_t>(shape.bytes()));
    if (index == kNoSample) {
      std::fill(image.begin(), image.end(), std::uint8_t{0});
      *target = kIgnoredTarget;
    } else {
      const ImageSample sample = dataset_.sample(index);
      if (augmentation_) {
        const CropFlip change = draw_crop_flip(augmentation_->options, augmentation_->seed, epoch, index);
        apply_crop_flip(change, shape, sample.pixels, image);
      } else {
        std::copy(sample.pixels.begin(), sample.pixels.end(), image.begin());
      }
      *target = sample.label;
      ++valid_targets;
    }
    pixels += shape.bytes();
    ++target;
  }
  return valid_targets;
}

TokenBatches::TokenBatches(const TokenDataset& dataset, const Sampler& sampler, std::int64_t rank)
    : dataset_(dataset), sampler_(sampler), rank_(rank) {
  check_source(dataset.samples(), sampler, rank);
}

BatchFormat TokenBatches::format() const {
  const Shape shape = {sampler_.grid().rank_batch(), dataset_.sequence_length()};
  return {DType::I32, shape, shape};
}

std::int64_t TokenBatches::fill(std::int64_t step, const BatchView& out) const {
  check_format(out, format());
  const auto length = static_cast<std::size_t>(dataset_.sequence_length());
  std::int32_t* input = out.inputs.data<std::int32_t>();
  std::int32_t* target = out.targets.data<std::int32_t>();
  std::int64_t valid_targets = 0;
  for (const std::int64_t index : rank_indices(sampler_, step, rank_)) {
    const std::span inputs(input, length);
    const std::span targets(target, length);
    if (index == kNoSample) {
      std::fill(inputs.begin(), inputs.end(), 0);
      std::fill(targets.begin(), targets.end(), kIgnoredTarget);
    } else {
      dataset_.read(index, inputs, targets);
      valid_targets +=
          static_cast<std::int64_t>(length) - std::count(targets.begin(), targets.end(), kIgnoredTarget);
    }
    input += length;
    target += length;
  }
  return valid_targets;
}

}  // namespace tandem

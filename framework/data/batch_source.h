// Turns (step, rank) into the bytes of a batch.
#pragma once

#include <cstdint>
#include <optional>

#include "data/augmentation.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "data/sampler.h"

namespace tandem {

// A batch is a pure function of the step: filling the same step twice, or from two threads into two memories,
// gives the same bytes. Rows without a sample are all zero with kIgnoredTarget as target.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual BatchFormat format() const = 0;

  // Returns the number of targets that are not kIgnoredTarget. Throws Error if `out` has another format,
  // InputError if the data prove to be bad.
  virtual std::int64_t fill(std::int64_t step, const BatchView& out) const = 0;
};

struct Augmentation {
  CropFlipOptions options;
  std::uint64_t seed = 0;
};

// One rank's batches of images. The data set must outlive it.
class ImageBatches final : public BatchSource {
 public:
  // Without `augmentation` images are copied as they are, as evaluation needs them.
  ImageBatches(const ImageDataset& dataset, const Sampler& sampler, std::int64_t rank,
               std::optional<Augmentation> augmentation = {});

  BatchFormat format() const override;
  std::int64_t fill(std::int64_t step, const BatchView& out) const override;

 private:
  const ImageDataset& dataset_;
  Sampler sampler_;
  std::int64_t rank_;
  std::optional<Augmentation> augmentation_;
};

// One rank's batches of tokens. The data set must outlive it.
class TokenBatches final : public BatchSource {
 public:
  TokenBatches(const TokenDataset& dataset, const Sampler& sampler, std::int64_t rank);

  BatchFormat format() const override;
  std::int64_t fill(std::int64_t step, const BatchView& out) const override;

 private:
  const TokenDataset& dataset_;
  Sampler sampler_;
  std::int64_t rank_;
};

}  // namespace tandem

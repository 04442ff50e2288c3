// Data sets without files: for measuring where reading must not matter, and for tests.
//
// Every sample is a pure function of (seed, index), the same on every rank and machine. There is nothing to
// learn in them.
#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace tandem {

struct SyntheticImageOptions {
  std::int64_t samples = 1281167;  // the defaults are the shape of ImageNet's training set
  ImageShape shape = {.height = 224, .width = 224, .channels = 3};
  std::int64_t classes = 1000;
  std::uint64_t seed = 0;
};

// A sample is a window on one block of random bytes, at an offset drawn from its index: it costs no more than
// finding the offset, whatever the shape, and the memory is one image and one MiB.
class SyntheticImages final : public ImageDataset {
 public:
  explicit SyntheticImages(const SyntheticImageOptions& options);

  std::int64_t samples() const override { return options_.samples; }
  ImageShape shape() const override { return options_.shape; }
  std::int64_t classes() const override { return options_.classes; }
  ImageSample sample(std::int64_t index) const override;

 private:
  SyntheticImageOptions options_;
  std::vector<std::uint8_t> block_;
};

struct SyntheticTokenOptions {
  std::int64_t samples = 1 << 20;
  std::int64_t sequence_length = 1024;
  std::int64_t vocabulary = 50257;  // GPT-2
  std::uint64_t seed = 0;
};

// Tokens are drawn uniformly, each sample by itself; four tokens cost one call of Philox.
class SyntheticTokens final : public TokenDataset {
 public:
  explicit SyntheticTokens(const SyntheticTokenOptions& options);

  std::int64_t samples() const override { return options_.samples; }
  std::int64_t sequence_length() const override { return options_.sequence_length; }
  std::int64_t vocabulary() const override { return options_.vocabulary; }
  void read(std::int64_t index, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) const override;

 private:
  SyntheticTokenOptions options_;
};

}  // namespace tandem

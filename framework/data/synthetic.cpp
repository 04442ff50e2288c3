#include "data/synthetic.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/rng.h"

namespace tandem {
namespace {

constexpr std::int64_t kLine = 64;                    // windows start on a cache line
constexpr std::int64_t kOffsets = (1 << 20) / kLine;  // different windows in the block
enum Stream : std::uint64_t {
  kBlockStream,
  kSampleStream
};  // the high word of the counter: what the numbers are for

constexpr std::int64_t kLargestBound = std::int64_t{1} << 31;  // labels and tokens are 32-bit signed

}  // namespace

SyntheticImages::SyntheticImages(const SyntheticImageOptions& options) : options_(options) {
  TANDEM_EXPECT(options.samples > 0 && options.shape.height > 0 && options.shape.width > 0 &&
                    options.shape.channels > 0,
                "{} images of {} x {} x {}", options.samples, options.shape.height, options.shape.width,
                options.shape.channels);
  TANDEM_EXPECT(options.classes > 0 && options.classes < kLargestBound, "{} classes", options.classes);
  block_.resize(static_cast<std::size_t>(options.shape.bytes() + kOffsets * kLine));
  const PhiloxKey key = philox_key(options.seed, RandomUse::Synthetic);
  for (std::size_t at = 0; at < block_.size(); at += sizeof(Philox4)) {
    const Philox4 random = philox(key, at, kBlockStream);
    std::memcpy(block_.data() + at, &random, std::min(sizeof random, block_.size() - at));
  }
}

ImageSample SyntheticImages::sample(std::int64_t index) const {
  TANDEM_EXPECT(index >= 0 && index < options_.samples, "sample {} of a data set of {}", index,
                options_.samples);
  const Philox4 random = philox(philox_key(options_.seed, RandomUse::Synthetic),
                                static_cast<std::uint64_t>(index), kSampleStream);
  const std::int64_t offset = kLine * uniform_below(random.word[0], kOffsets);
  const std::uint32_t label = uniform_below(random.word[1], static_cast<std::uint32_t>(options_.classes));
  return {std::span(block_).subspan(static_cast<std::size_t>(offset),
                                    static_cast<std::size_t>(options_.shape.bytes())),
          static_cast<std::int32_t>(label)};
}

SyntheticTokens::SyntheticTokens(const SyntheticTokenOptions& options) : options_(options) {
  TANDEM_EXPECT(options.samples > 0 && options.sequence_length > 0, "{} samples of {} tokens",
                options.samples, options.sequence_length);
  TANDEM_EXPECT(options.vocabulary > 0 && options.vocabulary < kLargestBound, "a vocabulary of {}",
                options.vocabulary);
}

void SyntheticTokens::read(std::int64_t index, std::span<std::int32_t> inputs,
                           std::span<std::int32_t> targets) const {
  TANDEM_EXPECT(index >= 0 && index < options_.samples, "sample {} of a data set of {}", index,
                options_.samples);
  TANDEM_EXPECT(
      std::ssize(inputs) == options_.sequence_length && std::ssize(targets) == options_.sequence_length,
      "samples have {} tokens, got room for {} and {}", options_.sequence_length, inputs.size(),
      targets.size());
  const PhiloxKey key = philox_key(options_.seed, RandomUse::Synthetic);
  const auto bound = static_cast<std::uint32_t>(options_.vocabulary);
  const std::size_t window = inputs.size() + 1;
  for (std::size_t t = 0; t < window; t += 4) {
    const Philox4 random = philox(key, t, static_cast<std::uint64_t>(index));
    for (std::size_t lane = 0; lane < 4 && t + lane < window; ++lane) {
      const auto token = static_cast<std::int32_t>(uniform_below(random.word[lane], bound));
      if (t + lane < inputs.size()) inputs[t + lane] = token;
      if (t + lane > 0) targets[t + lane - 1] = token;
    }
  }
}

}  // namespace tandem

#include "data/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/hash.h"

namespace tandem {
namespace {

constexpr std::int64_t kMostLookedAt = 64;

// Calls look(index) for samples from the first to the last, evenly spread.
template <class Look>
void for_spread_samples(std::int64_t samples, const Look& look) {
  const auto count = std::min(samples, kMostLookedAt);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto gaps = std::max<std::int64_t>(count - 1, 1);
    look((samples - 1) / gaps * i + (samples - 1) % gaps * i / gaps);
  }
}

template <class T>
std::string_view bytes_of(const T* values, std::size_t count) {
  return {reinterpret_cast<const char*>(values), count * sizeof(T)};
}

}  // namespace

std::string fingerprint(const ImageDataset& dataset) {
  std::string hashes;
  for_spread_samples(dataset.samples(), [&](std::int64_t index) {
    const auto sample = dataset.sample(index);
    hashes += fmt::format("{:x},{};", hash_bytes(bytes_of(sample.pixels.data(), sample.pixels.size())),
                          sample.label);
  });
  const auto shape = dataset.shape();
  return fmt::format("{} images of {}x{}x{} in {} classes, content {:016x}", dataset.samples(), shape.height,
                     shape.width, shape.channels, dataset.classes(), hash_bytes(hashes));
}

std::string fingerprint(const TokenDataset& dataset) {
  std::vector<std::int32_t> inputs(static_cast<std::size_t>(dataset.sequence_length()));
  auto targets = inputs;
  std::string hashes;
  for_spread_samples(dataset.samples(), [&](std::int64_t index) {
    dataset.read(index, inputs, targets);
    hashes += fmt::format("{:x},{:x};", hash_bytes(bytes_of(inputs.data(), inputs.size())),
                          hash_bytes(bytes_of(targets.data(), targets.size())));
  });
  return fmt::format("{} samples of {} tokens out of {}, content {:016x}", dataset.samples(),
                     dataset.sequence_length(), dataset.vocabulary(), hash_bytes(hashes));
}

}  // namespace tandem

// Mean and deviation of an image data set's channels, for normalising its images.
#pragma once

#include <array>
#include <cstdint>

#include "data/dataset.h"

namespace tandem {

struct ChannelStatistics {
  std::array<float, 4> mean{};       // of values in [0, 1], by channel
  std::array<float, 4> deviation{};  // likewise; 1 where a channel is constant
};

// Over at most `samples` images, spread evenly over the data set: the same on every rank. Throws Error for
// more than four channels.
ChannelStatistics channel_statistics(const ImageDataset& dataset, std::int64_t samples = 2048);

}  // namespace tandem

#include "data/channel_statistics.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tandem {

ChannelStatistics channel_statistics(const ImageDataset& dataset, std::int64_t samples) {
  const auto channels = dataset.shape().channels;
  TANDEM_EXPECT(channels >= 1 && channels <= 4, "images of {} channels", channels);
  const auto used = std::min(samples, dataset.samples());
  std::array<double, 4> sums{};
  std::array<double, 4> squares{};
  for (std::int64_t i = 0; i < used; ++i) {
    const auto pixels = dataset.sample(i * dataset.samples() / used).pixels;
    for (std::size_t at = 0; at < pixels.size(); ++at) {
      const double value = pixels[at] / 255.0;
      const auto channel = at % static_cast<std::size_t>(channels);
      sums[channel] += value;
      squares[channel] += value * value;
    }
  }
  ChannelStatistics result;
  const auto count = static_cast<double>(used * dataset.shape().height * dataset.shape().width);
  for (std::size_t channel = 0; channel < static_cast<std::size_t>(channels); ++channel) {
    const double mean = sums[channel] / count;
    const double variance = squares[channel] / count - mean * mean;
    result.mean[channel] = static_cast<float>(mean);
    result.deviation[channel] = variance > 1e-12 ? static_cast<float>(std::sqrt(variance)) : 1.0f;
  }
  return result;
}

}  // namespace tandem

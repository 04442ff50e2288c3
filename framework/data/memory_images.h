// Images that lie in memory one after another.
#pragma once

#include <vector>

#include "data/dataset.h"

namespace tandem {

// Owns pixels and labels. `pixel_offset` is where the first image starts in `pixels`, so that a file can be
// kept as it was read, with its header in front.
class MemoryImages final : public ImageDataset {
 public:
  struct Content {
    std::vector<std::uint8_t> pixels;  // from pixel_offset on: [samples, H, W, C]
    std::size_t pixel_offset = 0;
    std::vector<std::uint8_t> labels;  // from label_offset on: [samples]
    std::size_t label_offset = 0;
    ImageShape shape;
    std::int64_t classes = 0;
  };

  // Throws Error unless both arrays hold the same number of samples exactly.
  explicit MemoryImages(Content content);

  std::int64_t samples() const override { return samples_; }
  ImageShape shape() const override { return content_.shape; }
  std::int64_t classes() const override { return content_.classes; }
  ImageSample sample(std::int64_t index) const override;

 private:
  Content content_;
  std::int64_t samples_ = 0;
};

}  // namespace tandem

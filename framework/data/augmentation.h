// Random crop and horizontal flip of small images, on bytes.
#pragma once

#include <cstdint>
#include <span>

#include "data/dataset.h"

namespace tandem {

struct CropFlipOptions {
  std::int64_t padding = 0;  // black pixels put around the image before a window of its size is cut out
  bool flip = false;         // mirror left to right, for half of the images
};

// What happens to one image. The default changes nothing.
struct CropFlip {
  std::int64_t down = 0;  // the window's shift against the image, in pixels, in [-padding, padding]
  std::int64_t right = 0;
  bool mirrored = false;
  bool operator==(const CropFlip&) const = default;
};

// Drawn from (seed, epoch, sample) alone, the sample being its index in the data set: an image is treated the
// same whichever rank reads it, in whichever step.
CropFlip draw_crop_flip(const CropFlipOptions& options, std::uint64_t seed, std::int64_t epoch,
                        std::int64_t sample);

// Writes the changed image. REQUIRES both spans [H, W, C] and not overlapping.
void apply_crop_flip(const CropFlip& change, const ImageShape& shape, std::span<const std::uint8_t> image,
                     std::span<std::uint8_t> out);

}  // namespace tandem

#include "data/augmentation.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/rng.h"

namespace tandem {
namespace {

void copy_mirrored(const std::uint8_t* from, std::uint8_t* to, std::int64_t pixels, std::int64_t channels) {
  for (std::int64_t x = 0; x < pixels; ++x) {
    for (std::int64_t c = 0; c < channels; ++c) to[(pixels - 1 - x) * channels + c] = from[x * channels + c];
  }
}

}  // namespace

CropFlip draw_crop_flip(const CropFlipOptions& options, std::uint64_t seed, std::int64_t epoch,
                        std::int64_t sample) {
  TANDEM_EXPECT(options.padding >= 0 && options.padding < 1 << 16, "a padding of {} pixels", options.padding);
  const Philox4 random = philox(philox_key(seed, RandomUse::Augmentation), static_cast<std::uint64_t>(sample),
                                static_cast<std::uint64_t>(epoch));
  const auto shifts = static_cast<std::uint32_t>(2 * options.padding + 1);
  return {.down = std::int64_t{uniform_below(random.word[0], shifts)} - options.padding,
          .right = std::int64_t{uniform_below(random.word[1], shifts)} - options.padding,
          .mirrored = options.flip && uniform_below(random.word[2], 2) == 1};
}

void apply_crop_flip(const CropFlip& change, const ImageShape& shape, std::span<const std::uint8_t> image,
                     std::span<std::uint8_t> out) {
  TANDEM_EXPECT(std::ssize(image) == shape.bytes() && std::ssize(out) == shape.bytes(),
                "images have {} bytes, got {} and room for {}", shape.bytes(), image.size(), out.size());
  // In each row, the pixels of the window that lie on the image are [begin, end); the others are padding.
  const std::int64_t begin = std::clamp<std::int64_t>(-change.right, 0, shape.width);
  const std::int64_t end = std::clamp<std::int64_t>(shape.width - change.right, begin, shape.width);
  const std::int64_t row_bytes = shape.width * shape.channels;
  std::uint8_t* row = out.data();
  for (std::int64_t y = 0; y < shape.height; ++y, row += row_bytes) {
    const std::int64_t source = y + change.down;
    if (source < 0 || source >= shape.height || begin == end) {
      std::memset(row, 0, static_cast<std::size_t>(row_bytes));
      continue;
    }
    const std::uint8_t* from = image.data() + source * row_bytes + (begin + change.right) * shape.channels;
    // Mirroring turns the window around, so its covered part starts as far from the left as it ended from the
    // right.
    const std::int64_t at = change.mirrored ? shape.width - end : begin;
    const std::int64_t covered = end - begin;
    std::memset(row, 0, static_cast<std::size_t>(at * shape.channels));
    std::memset(row + (at + covered) * shape.channels, 0,
                static_cast<std::size_t>((shape.width - at - covered) * shape.channels));
    if (change.mirrored) {
      copy_mirrored(from, row + at * shape.channels, covered, shape.channels);
    } else {
      std::memcpy(row + at * shape.channels, from, static_cast<std::size_t>(covered * shape.channels));
    }
  }
}

}  // namespace tandem

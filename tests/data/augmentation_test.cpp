#include "data/augmentation.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <vector>

#include "core/error.h"

namespace tandem {
namespace {

using Image = std::vector<std::uint8_t>;

constexpr CropFlipOptions kOptions{.padding = 2, .flip = true};

Image counting_image(const ImageShape& shape) {
  Image image(static_cast<std::size_t>(shape.bytes()));
  std::iota(image.begin(), image.end(), std::uint8_t{1});
  return image;
}

Image apply(const CropFlip& change, const ImageShape& shape, const Image& image) {
  Image out(image.size(), 255);
  apply_crop_flip(change, shape, image, out);
  return out;
}

// The definition, pixel by pixel: pad with zeros, cut the window, mirror it.
Image expected(const CropFlip& change, const ImageShape& shape, const Image& image) {
  Image out(image.size(), 0);
  for (std::int64_t y = 0; y < shape.height; ++y) {
    for (std::int64_t x = 0; x < shape.width; ++x) {
      const std::int64_t from_y = y + change.down;
      const std::int64_t from_x = (change.mirrored ? shape.width - 1 - x : x) + change.right;
      if (from_y < 0 || from_y >= shape.height || from_x < 0 || from_x >= shape.width) continue;
      for (std::int64_t c = 0; c < shape.channels; ++c) {
        out[static_cast<std::size_t>((y * shape.width + x) * shape.channels + c)] =
            image[static_cast<std::size_t>((from_y * shape.width + from_x) * shape.channels + c)];
      }
    }
  }
  return out;
}

TEST(CropFlip, MovesPixelsAsDefined) {
  for (const ImageShape& shape : {ImageShape{4, 5, 1}, ImageShape{5, 4, 3}, ImageShape{1, 1, 2}}) {
    const Image image = counting_image(shape);
    for (std::int64_t down = -6; down <= 6; ++down) {
      for (std::int64_t right = -6; right <= 6; ++right) {
        for (const bool mirrored : {false, true}) {
          const CropFlip change{down, right, mirrored};
          ASSERT_EQ(apply(change, shape, image), expected(change, shape, image)) << down << " " << right;
        }
      }
    }
  }
}

TEST(CropFlip, WithoutOptionsNothingChanges) {
  const ImageShape shape{3, 3, 3};
  const Image image = counting_image(shape);
  for (std::int64_t sample = 0; sample < 100; ++sample) {
    const CropFlip change = draw_crop_flip({}, 1, 2, sample);
    EXPECT_EQ(change, CropFlip{});
    EXPECT_EQ(apply(change, shape, image), image);
  }
}

TEST(CropFlip, DependsOnSeedEpochAndSample) {
  const auto draw_many = [](std::uint64_t seed, std::int64_t epoch, std::int64_t first) {
    std::vector<CropFlip> changes;
    for (std::int64_t sample = first; sample < first + 50; ++sample) {
      changes.push_back(draw_crop_flip(kOptions, seed, epoch, sample));
    }
    return changes;
  };
  EXPECT_EQ(draw_many(1, 0, 0), draw_many(1, 0, 0));
  EXPECT_NE(draw_many(1, 0, 0), draw_many(2, 0, 0));
  EXPECT_NE(draw_many(1, 0, 0), draw_many(1, 1, 0));
  EXPECT_NE(draw_many(1, 0, 0), draw_many(1, 0, 50));
}

TEST(CropFlip, DrawsEveryShiftEquallyOften) {
  constexpr int kSamples = 50000;
  std::map<std::tuple<std::int64_t, std::int64_t, bool>, int> seen;
  for (std::int64_t sample = 0; sample < kSamples; ++sample) {
    const CropFlip change = draw_crop_flip(kOptions, 3, 0, sample);
    ++seen[{change.down, change.right, change.mirrored}];
  }
  ASSERT_EQ(seen.size(), 50u);  // 5 x 5 shifts, mirrored or not
  EXPECT_EQ(std::get<0>(seen.begin()->first), -2);
  EXPECT_EQ(std::get<0>(seen.rbegin()->first), 2);
  constexpr double kExpected = kSamples / 50.0;
  double chi_squared = 0;
  for (const auto& [change, count] : seen)
    chi_squared += (count - kExpected) * (count - kExpected) / kExpected;
  EXPECT_LT(chi_squared, 94.6);  // 49 degrees of freedom, p = 1e-4
}

TEST(CropFlip, RefusesOtherSizes) {
  Image small(8);
  Image right(9);
  EXPECT_THROW(apply_crop_flip({}, {3, 3, 1}, small, right), Error);
  EXPECT_THROW(apply_crop_flip({}, {3, 3, 1}, right, small), Error);
  EXPECT_THROW(draw_crop_flip({.padding = -1}, 0, 0, 0), Error);
}

}  // namespace
}  // namespace tandem

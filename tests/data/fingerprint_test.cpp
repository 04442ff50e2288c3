#include "data/fingerprint.h"

#include <gtest/gtest.h>

#include "data/memory_images.h"
#include "data/synthetic.h"

namespace tandem {
namespace {

MemoryImages images(std::int64_t samples, std::int64_t changed_pixel = -1, std::int64_t changed_label = -1) {
  MemoryImages::Content content{.shape = {2, 2, 1}, .classes = 10};
  for (std::int64_t i = 0; i < 4 * samples; ++i) content.pixels.push_back(i == changed_pixel ? 255 : 7);
  for (std::int64_t i = 0; i < samples; ++i) content.labels.push_back(i == changed_label ? 9 : 3);
  return MemoryImages(std::move(content));
}

TEST(Fingerprint, IsTheSameForTheSameImagesAndSeesEachChangeInAFewOfThem) {
  for (const std::int64_t samples : {1, 2, 63, 64}) {
    EXPECT_EQ(fingerprint(images(samples)), fingerprint(images(samples)));
    for (std::int64_t i = 0; i < samples; ++i) {
      EXPECT_NE(fingerprint(images(samples)), fingerprint(images(samples, 4 * i + 3)));
      EXPECT_NE(fingerprint(images(samples)), fingerprint(images(samples, -1, i)));
    }
  }
}

TEST(Fingerprint, SeesLengthFirstAndLastOfMany) {
  const auto many = fingerprint(images(1000));
  EXPECT_NE(many, fingerprint(images(1001)));
  EXPECT_NE(many, fingerprint(images(1000, 0)));
  EXPECT_NE(many, fingerprint(images(1000, 3999)));
}

TEST(Fingerprint, SeesOtherTokens) {
  const SyntheticTokenOptions options{
      .samples = 1'000'000'000'000, .sequence_length = 8, .vocabulary = 50, .seed = 1};
  auto other = options;
  other.seed = 2;
  EXPECT_EQ(fingerprint(SyntheticTokens(options)), fingerprint(SyntheticTokens(options)));
  EXPECT_NE(fingerprint(SyntheticTokens(options)), fingerprint(SyntheticTokens(other)));
}

}  // namespace
}  // namespace tandem

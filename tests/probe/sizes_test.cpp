#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "probe/link_measurement.h"

namespace tandem {
namespace {

using testing::ElementsAre;

TEST(SizesToMeasure, EndWithTheLargest) {
  EXPECT_THAT(sizes_to_measure({.max_bytes = 512, .factor = 4}), ElementsAre(8, 32, 128, 512));
  EXPECT_THAT(sizes_to_measure({.max_bytes = 600, .factor = 4}), ElementsAre(8, 32, 128, 512, 600));
  EXPECT_THAT(sizes_to_measure({.max_bytes = 8, .factor = 2}), ElementsAre(8));
  EXPECT_EQ(sizes_to_measure({.max_bytes = 1 << 30, .factor = 2}).size(), 28U);
}

TEST(SizesToMeasure, RefuseWhatIsNoSize) {
  EXPECT_THROW(sizes_to_measure({.max_bytes = 4, .factor = 4}), Error);
  EXPECT_THROW(sizes_to_measure({.max_bytes = 10, .factor = 4}), Error);
  EXPECT_THROW(sizes_to_measure({.max_bytes = 64, .factor = 1}), Error);
}

}  // namespace
}  // namespace tandem

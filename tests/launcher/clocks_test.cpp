#include "launcher/clocks.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Clocks, AreTheMeanOverTheCoresThatTell) {
  EXPECT_DOUBLE_EQ(
      mean_cpuinfo_mhz("processor\t: 0\ncpu MHz\t\t: 2000.5\n\nprocessor\t: 1\ncpu MHz\t\t: 3000.5\n"),
      2500.5);
  EXPECT_EQ(mean_cpuinfo_mhz(""), 0.0);
  EXPECT_EQ(mean_cpuinfo_mhz("model name\t: x\ncpu MHz\n"), 0.0);
}

}  // namespace
}  // namespace tandem

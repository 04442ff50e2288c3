#include "report/link_fit.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

// 2 ms + bytes at 1 GB/s bus bandwidth over 2 ranks, where a byte is moved once.
std::vector<AllReduceTime> exact_line() {
  return {{.bytes = 1e6, .wire_ms = 3.0}, {.bytes = 2e6, .wire_ms = 4.0}, {.bytes = 8e6, .wire_ms = 10.0}};
}

TEST(LinkFit, FindsLatencyAndBandwidthOfALine) {
  const auto fit = fit_link(exact_line(), 2);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->latency_ms, 2.0, 1e-9);
  EXPECT_NEAR(fit->bus_gb_per_s, 1.0, 1e-9);
  EXPECT_NEAR(fit->r_squared, 1.0, 1e-9);
  EXPECT_NEAR(fitted_bus_gb_per_s(*fit, 8e6, 2), 0.8, 1e-9);
  EXPECT_NEAR(fit_link(exact_line(), 4)->bus_gb_per_s, 1.5, 1e-9);  // 2 * 3 / 4 per byte
}

TEST(LinkFit, WhatIsNoLineHasNoFit) {
  EXPECT_FALSE(fit_link(exact_line(), 1));
  EXPECT_FALSE(fit_link({}, 2));
  EXPECT_FALSE(fit_link({{1e6, 1.0}, {3.9e6, 2.0}}, 2));  // too alike to tell latency from bandwidth
  EXPECT_TRUE(fit_link({{1e6, 1.0}, {4e6, 2.0}}, 2));
  EXPECT_FALSE(fit_link({{1e6, 2.0}, {8e6, 1.0}}, 2));              // more bytes, less time
  EXPECT_FALSE(fit_link({{1e6, 0.1}, {2e6, 1.0}, {8e6, 8.0}}, 2));  // latency below 0
}

}  // namespace
}  // namespace tandem

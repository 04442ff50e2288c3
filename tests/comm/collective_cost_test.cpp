#include "comm/collective_cost.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tandem {
namespace {

using std::chrono::microseconds;

constexpr ByteCount kMegabyte{1000000};

TEST(WireBytes, FollowTheLowerBounds) {
  EXPECT_EQ(wire_bytes_per_rank(CollectiveKind::AllReduce, kMegabyte, 4), 1.5e6);
  EXPECT_EQ(wire_bytes_per_rank(CollectiveKind::ReduceScatter, kMegabyte, 4), 0.75e6);
  EXPECT_EQ(wire_bytes_per_rank(CollectiveKind::AllGather, kMegabyte, 4), 0.75e6);
  EXPECT_EQ(wire_bytes_per_rank(CollectiveKind::Broadcast, kMegabyte, 2), 0.5e6);
  EXPECT_EQ(wire_bytes_per_rank(CollectiveKind::HostExchange, kMegabyte, 4), 0.0);
  EXPECT_EQ(wire_bytes_per_rank(CollectiveKind::AllReduce, kMegabyte, 1), 0.0);
}

TEST(ModelledTime, IsLatencyPlusBytesOverBandwidth) {
  const LinkModel link{.latency_us = 50.0, .bus_gbit_per_s = 1.0};
  EXPECT_EQ(modelled_time(link, CollectiveKind::AllReduce, kMegabyte, 2), microseconds(50 + 8000));
  EXPECT_EQ(modelled_time(link, CollectiveKind::AllReduce, kMegabyte, 4), microseconds(50 + 12000));
  EXPECT_EQ(modelled_time(link, CollectiveKind::Broadcast, kMegabyte, 4), microseconds(50 + 8000));
  EXPECT_EQ(modelled_time(link, CollectiveKind::AllReduce, ByteCount(0), 2), microseconds(50));
}

TEST(ModelledTime, OfTheTwoHalvesIsThatOfTheAllReduce) {
  const LinkModel link{.latency_us = 50.0, .bus_gbit_per_s = 2.0};
  for (const int ranks : {2, 4, 8}) {
    EXPECT_EQ(modelled_time(link, CollectiveKind::ReduceScatter, kMegabyte, ranks) +
                  modelled_time(link, CollectiveKind::AllGather, kMegabyte, ranks),
              modelled_time(link, CollectiveKind::AllReduce, kMegabyte, ranks));
  }
}

TEST(ModelledTime, OfOneRankIsZero) {
  EXPECT_EQ(modelled_time({}, CollectiveKind::AllReduce, kMegabyte, 1), microseconds(0));
}

TEST(ModelledTime, RefusesALinkWithoutBandwidth) {
  EXPECT_THROW(
      modelled_time({.latency_us = 1.0, .bus_gbit_per_s = 0.0}, CollectiveKind::AllReduce, kMegabyte, 2),
      Error);
}

TEST(LinkModel, IsDescribedForTables) {
  EXPECT_EQ(describe({.latency_us = 50.0, .bus_gbit_per_s = 1.0}), "1 Gbit/s, 50 us");
  EXPECT_EQ(describe({.latency_us = 2.5, .bus_gbit_per_s = 0.1}), "0.1 Gbit/s, 2.5 us");
}

}  // namespace
}  // namespace tandem

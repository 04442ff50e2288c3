#include "launcher/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace tandem {
namespace {

using testing::ElementsAre;

TEST(Hostfile, HasAHostPerLine) {
  EXPECT_THAT(parse_hostfile("# two\nnode1 slots=2\n\n  node2.lab max_slots=8 slots=4 # big\nnode3\n", "h"),
              ElementsAre(HostSlots{"node1", 2}, HostSlots{"node2.lab", 4}, HostSlots{"node3", 0}));
}

TEST(Hostfile, WhatIsNotUnderstoodIsAnErrorWithItsLine) {
  for (const std::string text :
       {"", "# nothing\n", "node1 slots=0\n", "node1 slots=two\n", "node1 slots\n", "node1 cores=2\n",
        "node1\nnode1\n", "-x slots=1\n", "a;b slots=1\n", "node1 slots=99999999999\n"})
    EXPECT_THROW(parse_hostfile(text, "h"), InputError) << text;
  try {
    parse_hostfile("a slots=1\nb slots=x\n", "hosts.txt");
    FAIL() << "did not throw";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problem().where, "hosts.txt:2");
  }
}

TEST(HostList, IsTheShortForm) {
  EXPECT_THAT(parse_host_list("a:2,b"), ElementsAre(HostSlots{"a", 2}, HostSlots{"b", 0}));
  for (const char* text : {"", "a,", ",a", "a:,b", "a:0", "a:-1", "a:2:3", "a,a"})
    EXPECT_THROW(parse_host_list(text), InputError) << text;
}

TEST(FillHosts, FillsOneHostAfterTheOther) {
  const std::vector<HostSlots> hosts = {{"a", 2}, {"b", 3}};
  EXPECT_EQ(fill_hosts(hosts, 0), hosts);
  EXPECT_THAT(fill_hosts(hosts, 2), ElementsAre(HostSlots{"a", 2}));
  EXPECT_THAT(fill_hosts(hosts, 3), ElementsAre(HostSlots{"a", 2}, HostSlots{"b", 1}));
  EXPECT_THROW(fill_hosts(hosts, 6), InputError);
  EXPECT_EQ(parse_hostfile(hostfile_text(hosts), "h"), hosts);
}

}  // namespace
}  // namespace tandem

#include "launcher/link_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

LinkChoice choice(std::string label, std::string link, std::string gbit, std::string latency_us,
                  bool no_overlap = false) {
  LinkChoice result{
      .label = std::move(label),
      .overrides = {"comm.link=" + link, "comm.pace_gbit=" + gbit, "comm.pace_latency_us=" + latency_us}};
  if (no_overlap) result.overrides.emplace_back("comm.schedule=after");
  return result;
}

TEST(LinkChoice, EveryFormBecomesItsKeys) {
  for (const std::string link : {"shm", "tcp", "net", "nvlink", "pcie", "auto"})
    EXPECT_EQ(parse_link(link), choice(link, link, "0", "0"));
  EXPECT_EQ(parse_link("paced"), choice("paced", "tcp", "1", "50"));
  EXPECT_EQ(parse_link("tcp@1gbit"), choice("tcp@1gbit", "tcp", "1", "0"));
  EXPECT_EQ(parse_link("tcp@0.5gbit+100us"), choice("tcp@0.5gbit+100us", "tcp", "0.5", "100"));
  EXPECT_EQ(parse_link("tcp@100us+0.5gbit"), choice("tcp@100us+0.5gbit", "tcp", "0.5", "100"));
  EXPECT_EQ(parse_link("shm@2.5us"), choice("shm@2.5us", "shm", "0", "2.5"));
  EXPECT_EQ(parse_link("shm-no-overlap"), choice("shm-no-overlap", "shm", "0", "0", true));
  EXPECT_EQ(parse_link("paced:no-overlap"), choice("paced-no-overlap", "tcp", "1", "50", true));
  EXPECT_EQ(parse_link("tcp@10gbit-no-overlap"), choice("tcp@10gbit-no-overlap", "tcp", "10", "0", true));
}

TEST(LinkChoice, WhatIsNoLinkIsNamedInTheError) {
  for (const std::string text : {"",
                                 "tpc",
                                 "TCP",
                                 "tcp ",
                                 "tcp@",
                                 "tcp@1",
                                 "tcp@gbit",
                                 "tcp@0gbit",
                                 "tcp@-1gbit",
                                 "tcp@1e3gbit",
                                 "tcp@nangbit",
                                 "tcp@infgbit",
                                 "tcp@1gbit+",
                                 "tcp@+1gbit",
                                 "tcp@1gbit+2gbit",
                                 "tcp@1us+2us",
                                 "tcp@1mbit",
                                 "tcp@1gbit+1us+1us",
                                 "tcp@1 gbit",
                                 "tcp@0x1gbit",
                                 "paced@1gbit",
                                 "-no-overlap",
                                 "@1gbit",
                                 "tcp-no-overlap-no-overlap",
                                 "tcp-no-overlap@1gbit",
                                 "tcp/../x"}) {
    try {
      parse_link(text);
      ADD_FAILURE() << "no error for \"" << text << '"';
    } catch (const InputError& error) {
      EXPECT_EQ(error.problem().where, "--links");
      EXPECT_EQ(error.problem().found, '"' + text + '"');
    }
  }
}

TEST(LinkChoice, AListMayNotBeEmptyOrRepeatALink) {
  EXPECT_EQ(parse_links({"shm", "tcp", "shm-no-overlap"}).size(), 3u);
  EXPECT_THROW(parse_links({}), InputError);
  EXPECT_THROW(parse_links({"shm", "tcp", "shm"}), InputError);
  EXPECT_THROW(parse_links({"shm-no-overlap", "shm:no-overlap"}), InputError);  // one folder, one row
  EXPECT_THROW(parse_links({"shm", "nope"}), InputError);
}

}  // namespace
}  // namespace tandem

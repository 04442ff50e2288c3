#include "comm/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

constexpr LinkSite kLaptop{.open_mpi_major = 4, .one_host = true, .cross_memory_attach = true};
constexpr LinkSite kNewerLaptop{.open_mpi_major = 5, .one_host = true, .cross_memory_attach = true};
constexpr LinkSite kCluster{.open_mpi_major = 4, .one_host = false, .cross_memory_attach = true};
constexpr LinkSite kContainer{.open_mpi_major = 4, .one_host = true, .cross_memory_attach = false};

TEST(ChooseLink, AutoLeavesTheChoiceToOpenMpi) {
  EXPECT_EQ(choose_link(LinkWish::Auto, kLaptop, {}), Environment());
  EXPECT_EQ(choose_link(LinkWish::Auto, kCluster, {{"OMPI_MCA_btl", "self,tcp"}}), Environment());
}

TEST(ChooseLink, TcpOnOneHostUsesTheLoopback) {
  EXPECT_EQ(choose_link(LinkWish::Tcp, kLaptop, {}), (Environment{{"OMPI_MCA_pml", "ob1"},
                                                                  {"OMPI_MCA_btl", "self,tcp"},
                                                                  {"OMPI_MCA_btl_tcp_if_include", "lo"}}));
}

TEST(ChooseLink, TcpOverHostsLeavesTheInterfaceToTheUser) {
  const Environment chosen{{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "self,tcp"}};
  EXPECT_EQ(choose_link(LinkWish::Tcp, kCluster, {}), chosen);
  EXPECT_EQ(choose_link(LinkWish::Tcp, kCluster, {{"OMPI_MCA_btl_tcp_if_include", "eth0"}}), chosen);
  EXPECT_EQ(choose_link(LinkWish::Tcp, kCluster, {{"OMPI_MCA_btl_tcp_if_exclude", "eth1"}}), chosen);
}

TEST(ChooseLink, SharedMemoryHasTheNameOfItsVersion) {
  EXPECT_EQ(choose_link(LinkWish::Shm, kLaptop, {}),
            (Environment{{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "self,vader"}}));
  EXPECT_EQ(choose_link(LinkWish::Shm, kNewerLaptop, {}),
            (Environment{{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "self,sm"}}));
}

TEST(ChooseLink, AvoidsCopiesThatTheKernelForbids) {
  const std::string variable = "OMPI_MCA_btl_vader_single_copy_mechanism";
  EXPECT_EQ(choose_link(LinkWish::Shm, kContainer, {}).at(variable), "none");
  EXPECT_EQ(choose_link(LinkWish::Auto, kContainer, {}), (Environment{{variable, "none"}}));
  EXPECT_FALSE(choose_link(LinkWish::Tcp, kContainer, {}).contains(variable));
  EXPECT_FALSE(choose_link(LinkWish::Shm, kContainer, {{variable, "emulated"}}).contains(variable));
  auto newer = kContainer;
  newer.open_mpi_major = 5;
  EXPECT_EQ(choose_link(LinkWish::Shm, newer, {}).at("OMPI_MCA_smsc"), "^cma");
}

TEST(ChooseLink, SharedMemoryOverHostsIsAnError) {
  EXPECT_THROW(choose_link(LinkWish::Shm, kCluster, {}), InputError);
}

TEST(ChooseLink, AgreeingVariablesOfTheUserAreFine) {
  EXPECT_NO_THROW(
      choose_link(LinkWish::Tcp, kLaptop, {{"OMPI_MCA_btl", "tcp,self"}, {"OMPI_MCA_pml", "ob1"}}));
  EXPECT_NO_THROW(
      choose_link(LinkWish::Shm, kLaptop, {{"PATH", "/bin"}, {"OMPI_MCA_rmaps_base_oversubscribe", "1"}}));
}

struct Conflict {
  LinkWish wish;
  std::string variable;
  std::string value;
};
void PrintTo(const Conflict& conflict, std::ostream* out) {
  *out << conflict.variable << "=" << conflict.value;
}

class ConflictTest : public ::testing::TestWithParam<Conflict> {};

TEST_P(ConflictTest, IsAnErrorThatNamesBoth) {
  const auto& [wish, variable, value] = GetParam();
  try {
    choose_link(wish, kLaptop, {{variable, value}});
    FAIL() << "did not throw";
  } catch (const InputError& error) {
    EXPECT_THAT(error.problem().where,
                HasSubstr(wish == LinkWish::Tcp ? "comm.link: tcp" : "comm.link: shm"));
    EXPECT_THAT(error.problem().where, HasSubstr(variable));
    EXPECT_EQ(error.problem().found, variable + "=" + value);
  }
}

INSTANTIATE_TEST_SUITE_P(Variables, ConflictTest,
                         ::testing::Values(Conflict{LinkWish::Tcp, "OMPI_MCA_btl", "self,vader"},
                                           Conflict{LinkWish::Tcp, "OMPI_MCA_btl", "^tcp"},
                                           Conflict{LinkWish::Tcp, "OMPI_MCA_pml", "ucx"},
                                           Conflict{LinkWish::Tcp, "OMPI_MCA_btl_tcp_if_include", "eth0"},
                                           Conflict{LinkWish::Tcp, "OMPI_MCA_btl_tcp_if_exclude", "lo"},
                                           Conflict{LinkWish::Shm, "OMPI_MCA_btl", "self,tcp"},
                                           Conflict{LinkWish::Shm, "OMPI_MCA_pml", "cm"}));

}  // namespace
}  // namespace tandem

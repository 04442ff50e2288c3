#include "doctor/surroundings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace tandem {
namespace {

using testing::ElementsAre;

TEST(Surroundings, SettingsOfAnNcclFile) {
  EXPECT_THAT(nccl_settings("# all of it\n NCCL_DEBUG=INFO # more\r\n\nnonsense\nNCCL_ALGO=Ring"),
              ElementsAre("NCCL_DEBUG=INFO", "NCCL_ALGO=Ring"));
}

TEST(Surroundings, TheFileThatAVariableNamesTakesThePlaceOfTheUsers) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "surroundings";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / ".nccl.conf") << "NCCL_ALGO=Ring\n";
  std::ofstream(folder / "mine.conf") << "NCCL_ALGO=Tree\n";
  const auto users = nccl_files({{"HOME", folder.string()}});
  ASSERT_GE(users.size(), 1U);
  EXPECT_THAT(users[0].settings, ElementsAre("NCCL_ALGO=Ring"));
  const auto named =
      nccl_files({{"HOME", folder.string()}, {"NCCL_CONF_FILE", (folder / "mine.conf").string()}});
  ASSERT_GE(named.size(), 1U);
  EXPECT_EQ(named[0].path, (folder / "mine.conf").string());
  std::filesystem::remove_all(folder);
}

TEST(Surroundings, OnlyVariablesThatMatter) {
  const auto around = look_around(
      {{"NCCL_DEBUG", "INFO"}, {"SECRET", "x"}, {"OMPI_MCA_btl", "self"}, {"LD_LIBRARY_PATH", "/l"}});
  EXPECT_THAT(around.variables,
              ElementsAre(testing::Pair("LD_LIBRARY_PATH", "/l"), testing::Pair("NCCL_DEBUG", "INFO"),
                          testing::Pair("OMPI_MCA_btl", "self")));
}

TEST(Surroundings, AFolderOfTheJobsFiles) {
  EXPECT_EQ(fault_of_folder(testing::TempDir()), "");
  EXPECT_EQ(fault_of_folder(std::filesystem::path(testing::TempDir()) / "none/yet"), "");
  EXPECT_NE(fault_of_folder("/sys/none"), "");  // full, or read-only
  EXPECT_NE(fault_of_folder("/dev/null/none"), "");
  EXPECT_EQ(look_around({}).temp_folder, "/tmp");
  const auto around = look_around({{"TMPDIR", "/sys/none"}, {"TMP", "/tmp"}});
  EXPECT_EQ(around.temp_folder, "/sys/none");
  EXPECT_EQ(around.temp_folder_fault, fault_of_folder("/sys/none"));
}

TEST(Surroundings, FindsProgramsOnThePath) {
  EXPECT_EQ(find_on_path("sh", {{"PATH", "/no/such:/bin"}}), "/bin/sh");
  EXPECT_EQ(find_on_path("sh", {{"PATH", "/no/such"}}), "");
  EXPECT_EQ(find_on_path("sh", {}), "");
}

}  // namespace
}  // namespace tandem

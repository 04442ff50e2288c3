#include "report/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"
#include "temporary_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

TEST(AtomicFile, WritesAndReadsBackAnyBytes) {
  const TemporaryFolder folder;
  std::string content("a\0b\r\n\xff", 6);
  content += std::string(300'000, 'x');  // more than one read
  write_file_atomically(folder.path() / "file", content);
  EXPECT_EQ(read_file(folder.path() / "file"), content);
}

TEST(AtomicFile, ReplacesTheOldFileAndLeavesNothingElse) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "file", "a long first version");
  std::ofstream(folder.path() / "file.tmp") << "left behind by a killed run, longer than what comes";
  write_file_atomically(folder.path() / "file", "second");
  EXPECT_EQ(read_file(folder.path() / "file"), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(AtomicFile, AFailureLeavesTheOldVersionAndNamesPathAndReason) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "target";
  fs::create_directories(path / "occupied");  // a file cannot be renamed over a directory that is not empty
  try {
    write_file_atomically(path, "content");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problem().where, path.string());
    EXPECT_THAT(error.problem().found, testing::HasSubstr("irectory"));
  }
  EXPECT_TRUE(fs::exists(path / "occupied"));
  EXPECT_FALSE(fs::exists(folder.path() / "target.tmp"));
}

TEST(AtomicFile, AMissingFolderOrFileIsAnInputError) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_file_atomically(folder.path() / "no" / "file", "x"), InputError);
  EXPECT_THROW(read_file(folder.path() / "no file"), InputError);
  EXPECT_THROW(read_file(folder.path()), InputError);  // a folder
}

TEST(AtomicFile, ADeviceThatIsFullIsAnInputError) {
  const TemporaryFolder folder;
  fs::create_symlink("/dev/full", folder.path() / "file.tmp");
  EXPECT_THROW(write_file_atomically(folder.path() / "file", "x"), InputError);
  EXPECT_FALSE(fs::exists(folder.path() / "file"));
}

}  // namespace
}  // namespace tandem

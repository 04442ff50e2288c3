#include "trainer/run_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

class RunFolderTest : public ::testing::Test {
 protected:
  RunFolderTest() { fs::create_directories(folder_); }
  ~RunFolderTest() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::temp_directory_path() / ("tandem_run_folder_" + std::to_string(getpid()));
};

TEST_F(RunFolderTest, IsMadeWithItsParentsAndLeftEmpty) {
  const RunFolder folder(folder_ / "a" / "b c");
  EXPECT_TRUE(fs::is_empty(folder_ / "a" / "b c"));
}

TEST_F(RunFolderTest, RefusesWhatCannotBeADirectory) {
  std::ofstream(folder_ / "file") << "x";
  for (const auto& path : {folder_ / "file", folder_ / "file" / "below", fs::path("/proc/run"),
                           folder_ / std::string(300, 'a')}) {
    EXPECT_THROW(RunFolder{path}, InputError) << path;
  }
}

TEST_F(RunFolderTest, BelongsToOneRunAtATime) {
  {
    const RunFolder first(folder_);
    EXPECT_THROW(RunFolder{folder_}, InputError);
  }
  EXPECT_NO_THROW(RunFolder{folder_});
}

}  // namespace
}  // namespace tandem

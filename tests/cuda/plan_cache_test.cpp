#include "ops/cuda/plan_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/error.h"

namespace tandem {
namespace {

class PlanCacheTest : public ::testing::Test {
 protected:
  PlanCacheTest()
      : folder_(std::filesystem::temp_directory_path() / fmt::format("plan_cache_test.{}", ::getpid())) {}
  ~PlanCacheTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path() const { return folder_ / "deeper" / "plans.json"; }
  void write(const std::string& text) const {
    std::filesystem::create_directories(path().parent_path());
    std::ofstream(path()) << text;
  }

  std::filesystem::path folder_;
};

TEST_F(PlanCacheTest, KeepsChoicesFromRunToRun) {
  {
    PlanCache cache(path(), "gpu");
    EXPECT_FALSE(cache.find("conv"));
    cache.store("conv", "engine 1");
    cache.store("conv", "engine 2");
    EXPECT_EQ(cache.find("conv"), "engine 2");
  }
  EXPECT_EQ(PlanCache(path(), "gpu").find("conv"), "engine 2");
}

TEST_F(PlanCacheTest, AChoiceIsForOneGpuAndItsVersions) {
  PlanCache(path(), "gpu A").store("conv", "a");
  PlanCache other(path(), "gpu B");
  EXPECT_FALSE(other.find("conv"));
  other.store("conv", "b");
  EXPECT_EQ(PlanCache(path(), "gpu A").find("conv"), "a");
  EXPECT_EQ(PlanCache(path(), "gpu B").find("conv"), "b");
}

TEST_F(PlanCacheTest, WithoutAPathNothingIsWritten) {
  PlanCache cache({}, "gpu");
  cache.store("conv", "a");
  EXPECT_EQ(cache.find("conv"), "a");
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(PlanCacheTest, LeavesNoTemporaryFileBehind) {
  PlanCache(path(), "gpu").store("conv", "a");
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path().parent_path()))
    ++files;
  EXPECT_EQ(files, 1u);
}

TEST_F(PlanCacheTest, AnythingElseInTheFileIsAnErrorThatNamesIt) {
  for (const char* text : {"", "{", "[]", "{}", R"({"format": 2, "sections": {}})",
                           R"({"format": 1, "sections": []})", R"({"format": "1", "sections": {}})"}) {
    write(text);
    try {
      const PlanCache cache(path(), "gpu");
      FAIL() << "accepted: " << text;
    } catch (const InputError& error) {
      EXPECT_EQ(error.problem().where, path().string());
    }
  }
}

}  // namespace
}  // namespace tandem

#include "report/metrics_file.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"
#include "report/atomic_file.h"
#include "report/temporary_folder.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

StepMetrics example() {
  return {.step = 7,
          .epoch = 1,
          .time_s = 1000.5,
          .loss = 0.25,
          .learning_rate = 0.125,
          .items = 64,
          .timing = {.step_ms = 32.0,
                     .data_wait_ms = 1.0,
                     .forward_ms = 8.0,
                     .backward_ms = 16.0,
                     .recompute_ms = 6.0,
                     .comm_busy_ms = 10.0,
                     .exposed_ms = 4.0,
                     .optimizer_ms = 2.0,
                     .other_ms = 1.0}};
}

TEST(MetricsLine, IsOneObjectOnOneLine) {
  EXPECT_EQ(metrics_line(example()),
            R"({"step":7,"epoch":1,"time_s":1000.5,"loss":0.25,"learning_rate":0.125,"items_per_s":2000.0,)"
            R"("step_ms":32.0,"data_wait_ms":1.0,"forward_ms":8.0,"backward_ms":16.0,"recompute_ms":6.0,)"
            R"("exposed_ms":4.0,)"
            R"("optimizer_ms":2.0,"other_ms":1.0,"comm_busy_ms":10.0})"
            "\n");
}

TEST(MetricsLine, NeverTakesWhatWasNotMeasuredForZero) {
  auto metrics = example();
  metrics.timing = {};
  metrics.loss = std::numeric_limits<double>::infinity();
  const auto line = Json::parse(metrics_line(metrics));
  EXPECT_TRUE(line["step_ms"].is_null());
  EXPECT_TRUE(line["items_per_s"].is_null());
  EXPECT_EQ(line["loss"], "inf");
}

TEST(MetricsLine, HasTheKeysThatThePageDocuments) {
  const auto page = read_file(TANDEM_RUN_RECORD_PAGE);
  const auto section = page.substr(page.find("## metrics.jsonl"));
  const auto line = Json::parse(metrics_line(example()));
  for (const auto& [key, value] : line.items())
    EXPECT_NE(section.find("`" + key + "`"), std::string::npos) << key;
}

TEST(MetricsFile, HoldsEveryStepInOrder) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  {
    MetricsFile file(path);
    for (int step = 0; step < 1000; ++step) {
      auto metrics = example();
      metrics.step = step;
      file.add(metrics);
    }
    EXPECT_EQ(file.close(), "");
  }
  std::istringstream lines(read_file(path));
  std::int64_t step = 0;
  for (std::string line; std::getline(lines, line); ++step) EXPECT_EQ(Json::parse(line)["step"], step);
  EXPECT_EQ(step, 1000);
}

TEST(MetricsFile, CanBeFollowedWhileItIsOpen) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  MetricsFile file(path);
  file.add(example());
  while (read_file(path).empty()) std::this_thread::yield();  // ends by the test's timeout if nothing comes
  EXPECT_EQ(read_file(path), metrics_line(example()));
}

TEST(MetricsFile, ForgetsAnEarlierRun) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  write_file_atomically(path, "old\n");
  MetricsFile(path).add(example());
  EXPECT_EQ(read_file(path), metrics_line(example()));
}

TEST(MetricsFile, NamesAPlaceThatCannotBeWritten) {
  const TemporaryFolder folder;
  EXPECT_THROW(MetricsFile(folder.path() / "no" / "metrics.jsonl"), InputError);
}

// Every write to /dev/full fails as on a full disk.
TEST(MetricsFile, SaysThatItEndsEarlyAndEndsNothingElse) {
  MetricsFile file("/dev/full");
  file.add(example());
  EXPECT_NE(file.close().find("/dev/full ends early"), std::string::npos);
}

}  // namespace
}  // namespace tandem

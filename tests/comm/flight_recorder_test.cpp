#include "comm/flight_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

class FlightRecorderTest : public ::testing::Test {
 protected:
  std::uint64_t all_reduce(const std::string& label, std::int64_t bytes = 4000) {
    return recorder_.enqueue(CollectiveKind::AllReduce, label, ByteCount(bytes));
  }

  FlightRecorder::Clock::time_point now_;
  FlightRecorder recorder_{{.rank = Rank{1}, .world_size = 2, .host = "node7"}, [this] { return now_; }};
};

TEST_F(FlightRecorderTest, NumbersCollectivesFromOneAndKeepsTheirTimes) {
  EXPECT_EQ(all_reduce("a"), 1u);
  now_ += milliseconds(5);
  EXPECT_EQ(all_reduce("b"), 2u);
  recorder_.start(1);
  now_ += milliseconds(7);
  recorder_.finish(1);
  const auto records = recorder_.records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(*records[0].started - records[0].enqueued, milliseconds(5));
  EXPECT_EQ(*records[0].finished - *records[0].started, milliseconds(7));
  EXPECT_FALSE(records[1].started.has_value());
}

TEST_F(FlightRecorderTest, OldestRunningIsStartedAndNotFinished) {
  EXPECT_FALSE(recorder_.oldest_running().has_value());
  all_reduce("a");
  all_reduce("b");
  EXPECT_FALSE(recorder_.oldest_running().has_value());
  recorder_.start(1);
  EXPECT_EQ(recorder_.oldest_running()->label, "a");
  recorder_.finish(1);
  EXPECT_FALSE(recorder_.oldest_running().has_value());
}

TEST_F(FlightRecorderTest, DropsOldFinishedRecordsAndNoUnfinishedOnes) {
  const auto stuck = all_reduce("stuck");
  for (std::size_t i = 0; i < FlightRecorder::kKeptRecords; ++i) all_reduce("");
  EXPECT_EQ(recorder_.records().front().sequence, stuck);
  recorder_.start(stuck);
  recorder_.finish(stuck);
  all_reduce("");
  EXPECT_EQ(recorder_.records().front().sequence, stuck + 1);
  EXPECT_THROW(recorder_.start(stuck), Error);
}

TEST_F(FlightRecorderTest, AddsUpExpectedWireBytesOfFinishedCollectives) {
  all_reduce("", 4000);
  recorder_.enqueue(CollectiveKind::Broadcast, "", ByteCount(100));
  recorder_.start(1);
  EXPECT_EQ(recorder_.expected_wire_bytes(), 0.0);
  recorder_.finish(1);
  recorder_.start(2);
  recorder_.finish(2);
  EXPECT_EQ(recorder_.expected_wire_bytes(), 4000.0 + 50.0);
}

TEST_F(FlightRecorderTest, DescribesWhatIsPending) {
  all_reduce("bucket 0");
  all_reduce("bucket 1", 1048576);
  all_reduce("");
  recorder_.start(1);
  recorder_.finish(1);
  recorder_.start(2);
  now_ += milliseconds(30100);
  EXPECT_EQ(recorder_.describe_pending(),
            "  waiting in:  #2 all_reduce \"bucket 1\", 1048576 bytes, started 30.1 s ago\n"
            "  queued:      #3 all_reduce, 4000 bytes, enqueued 30.1 s ago\n"
            "  last done:   #1 all_reduce \"bucket 0\", 4000 bytes, finished 30.1 s ago\n");
}

TEST_F(FlightRecorderTest, ShortensALongQueue) {
  for (int i = 0; i < 20; ++i) all_reduce("bucket " + std::to_string(i));
  const auto text = recorder_.describe_pending();
  EXPECT_THAT(text, HasSubstr("\"bucket 7\""));
  EXPECT_THAT(text, Not(HasSubstr("\"bucket 8\"")));
  EXPECT_THAT(text, HasSubstr("and 12 more"));
}

TEST_F(FlightRecorderTest, SaysWhenNothingIsPending) {
  EXPECT_THAT(recorder_.describe_pending(), HasSubstr("no collective pending"));
}

}  // namespace
}  // namespace tandem

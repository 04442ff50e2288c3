#include "comm/stream_flight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

StreamFlight::Call bucket(int index) {
  return {.label = "bucket " + std::to_string(index), .bytes = ByteCount(4000)};
}

class StreamFlightTest : public ::testing::Test {
 protected:
  StreamFlight flight_;
  StreamFlight::Clock::time_point now_{seconds(1000)};
};

TEST_F(StreamFlightTest, NumbersCollectivesFromOne) {
  EXPECT_EQ(flight_.enqueue(bucket(0), false), 1u);
  EXPECT_EQ(flight_.enqueue(bucket(1), true), 2u);
}

TEST_F(StreamFlightTest, NothingRunsBeforeTheStreamReachesIt) {
  flight_.enqueue(bucket(0), false);
  flight_.look(0, 0, now_);
  EXPECT_FALSE(flight_.running_for(now_ + seconds(99)));
  EXPECT_THAT(flight_.describe(now_), AllOf(HasSubstr("nothing"), Not(HasSubstr("last done"))));
}

TEST_F(StreamFlightTest, AgeCountsFromTheFirstLookThatSawIt) {
  flight_.enqueue(bucket(0), false);
  flight_.enqueue(bucket(1), false);
  flight_.look(1, 1, now_);
  flight_.look(2, 1, now_ + seconds(5));
  flight_.look(2, 1, now_ + seconds(8));
  EXPECT_EQ(flight_.running_for(now_ + seconds(15)), seconds(10));
  EXPECT_THAT(flight_.describe(now_ + seconds(15)),
              AllOf(HasSubstr("waiting in:  #2 all_reduce \"bucket 1\", 4000 bytes, running for 10.0 s"),
                    HasSubstr("last done:   #1 all_reduce \"bucket 0\"")));
  flight_.look(2, 2, now_ + seconds(16));
  EXPECT_FALSE(flight_.running_for(now_ + seconds(99)));
}

// Two graphs, replayed in turn: the same numbers come again and again.
TEST_F(StreamFlightTest, AReplayIsNotOneLongRun) {
  flight_.enqueue(bucket(0), true);
  flight_.enqueue(bucket(0), true);
  for (int step = 0; step < 10; ++step) {
    const auto number = static_cast<std::uint32_t>(1 + step % 2);
    const auto other = 3 - number;
    flight_.look(number, step == 0 ? 0 : other, now_ + seconds(step));
    EXPECT_EQ(flight_.running_for(now_ + seconds(step)), seconds(0)) << "step " << step;
  }
}

TEST_F(StreamFlightTest, CapturedCollectivesAreKeptForEver) {
  const auto captured = flight_.enqueue(bucket(3), true);
  for (std::size_t i = 0; i <= StreamFlight::kKeptCalls; ++i) flight_.enqueue(bucket(0), false);
  flight_.look(captured, 2, now_);
  EXPECT_THAT(flight_.describe(now_), AllOf(HasSubstr("\"bucket 3\""), HasSubstr("last done:   #2\n")))
      << "the other is forgotten but for its number";
}

}  // namespace
}  // namespace tandem

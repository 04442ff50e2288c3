#include "report/progress.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace tandem {
namespace {

Progress example() {
  return {.epoch = 1,
          .epochs = 3,
          .step = 120,
          .steps = 468,
          .loss = 0.512,
          .items_per_s = 1234.4,
          .item = "img",
          .exposed_share = 0.031,
          .seconds_left = 42.0};
}

TEST(FormatProgress, ShowsAllWhereThereIsRoom) {
  const std::string whole = "epoch 1/3  step 120/468  loss 0.512  1,234 img/s  exposed 3.1 %  0:42 left";
  EXPECT_EQ(format_progress(example(), 200), whole);
  EXPECT_EQ(format_progress(example(), static_cast<int>(whole.size())), whole);
}

TEST(FormatProgress, DropsTheLeastImportantFirst) {
  EXPECT_EQ(format_progress(example(), 73), "epoch 1/3  step 120/468  loss 0.512  1,234 img/s  0:42 left");
  EXPECT_EQ(format_progress(example(), 50), "epoch 1/3  step 120/468  1,234 img/s  0:42 left");
  EXPECT_EQ(format_progress(example(), 40), "epoch 1/3  step 120/468  0:42 left");
  EXPECT_EQ(format_progress(example(), 30), "epoch 1/3  step 120/468");
  EXPECT_EQ(format_progress(example(), 20), "epoch 1/3");
  EXPECT_EQ(format_progress(example(), 4), "epoc");
  EXPECT_EQ(format_progress(example(), 0), "e");
}

TEST(FormatProgress, NeverExceedsTheWidth) {
  for (int width = 1; width < 120; ++width)
    EXPECT_LE(format_progress(example(), width).size(), static_cast<std::size_t>(width));
}

TEST(FormatProgress, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(format_progress({.epoch = 2, .epochs = 2, .step = 0, .steps = 10}, 80), "epoch 2/2  step 0/10");
  EXPECT_EQ(format_progress({.steps = 1, .items_per_s = 3.456, .item = "tok"}, 80),
            "epoch 1/1  step 0/1  3.46 tok/s");
  EXPECT_EQ(format_progress({.steps = 1, .items_per_s = std::numeric_limits<double>::infinity()}, 80),
            "epoch 1/1  step 0/1");
}

TEST(FormatDuration, IsShortAndExact) {
  EXPECT_EQ(format_duration(0.0), "0:00");
  EXPECT_EQ(format_duration(42.4), "0:42");
  EXPECT_EQ(format_duration(59.6), "1:00");
  EXPECT_EQ(format_duration(725.0), "12:05");
  EXPECT_EQ(format_duration(11'220.0), "3:07:00");
  EXPECT_EQ(format_duration(-1.0), "0:00");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::infinity()), "?");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::quiet_NaN()), "?");
}

TEST(EstimateSecondsLeft, GoesOnAtThePaceSoFar) {
  EXPECT_EQ(estimate_seconds_left(10, 40, 5.0), 15.0);
  EXPECT_EQ(estimate_seconds_left(40, 40, 5.0), 0.0);
  EXPECT_EQ(estimate_seconds_left(50, 40, 5.0), 0.0);
  EXPECT_EQ(estimate_seconds_left(0, 40, 5.0), std::nullopt);
}

class Line : public testing::Test {
 protected:
  ProgressLine make(const ProgressOptions& options) {
    return {options, [this](std::string_view text) { written_.emplace_back(text); }};
  }
  static Progress at(std::int64_t step) { return {.step = step, .steps = 100}; }

  std::vector<std::string> written_;
};

TEST_F(Line, ALogGetsWholeLinesAtIntervalsAndTheLastState) {
  auto line = make({.log_interval_s = 10.0});
  line.update(at(1), 100.0);
  line.update(at(2), 109.9);
  line.update(at(3), 110.0);
  line.update(at(4), 111.0);
  line.finish();
  line.finish();
  EXPECT_EQ(written_, (std::vector<std::string>{"epoch 1/1  step 1/100\n", "epoch 1/1  step 3/100\n",
                                                "epoch 1/1  step 4/100\n"}));
}

TEST_F(Line, ATerminalLineReplacesItselfWhole) {
  auto line = make({.terminal = true, .terminal_interval_s = 0.5});
  line.update(at(100), 0.0);
  line.update(at(5), 0.4);
  line.update(at(6), 0.5);
  line.finish();
  EXPECT_EQ(written_,
            (std::vector<std::string>{"\repoch 1/1  step 100/100", "\repoch 1/1  step 6/100  ", "\n"}));
}

TEST_F(Line, ATerminalLineStaysOffTheLastColumn) {
  auto line = make({.terminal = true});
  line.update(at(100), 0.0, 23);
  line.update(at(100), 1.0, 24);
  EXPECT_EQ(written_, (std::vector<std::string>{"\repoch 1/1", "\repoch 1/1  step 100/100"}));
}

TEST_F(Line, ANarrowedTerminalIsNotOverrunByBlanks) {
  auto line = make({.terminal = true});
  line.update(at(100), 0.0, 80);
  line.update(at(100), 1.0, 12);
  EXPECT_EQ(written_.back(), "\repoch 1/1  ");
}

TEST_F(Line, ColourOnlyOnATerminalThatWantsIt) {
  auto terminal = make({.terminal = true, .color = true});
  terminal.update(at(1), 0.0);
  auto log = make({.terminal = false, .color = true});
  log.update(at(1), 0.0);
  EXPECT_EQ(written_,
            (std::vector<std::string>{"\r\x1b[1mepoch 1/1  step 1/100\x1b[0m", "epoch 1/1  step 1/100\n"}));
}

TEST(FormatEpoch, LeavesOutWhatIsNotKnown) {
  EpochRecord epoch{
      .epoch = 0, .steps = 100, .wall_s = 4.5, .eval_s = 0.5, .items = 12'000, .train_loss = 0.51234};
  EXPECT_EQ(format_epoch(epoch, 3, "img", 0.037),
            "epoch 1/3: 4.50 s  3,000 img/s  training loss 0.5123  exposed 3.7 %");
  epoch.eval_accuracy = 0.871;
  EXPECT_EQ(format_epoch(epoch, 3, "img", {}),
            "epoch 1/3: 4.50 s  3,000 img/s  training loss 0.5123  accuracy 87.10 %");
}

TEST_F(Line, APrintedLineTakesThePlaceOfTheProgressAndStays) {
  auto log = make({});
  log.update(at(1), 0.0);
  log.print("epoch 1/1");
  log.finish();
  EXPECT_EQ(written_, (std::vector<std::string>{"epoch 1/1  step 1/100\n", "epoch 1/1\n"}));
  written_.clear();
  auto line = make({.terminal = true});
  line.update(at(1), 0.0);
  line.print("epoch 1/1");
  line.finish();
  EXPECT_EQ(written_, (std::vector<std::string>{"\repoch 1/1  step 1/100", '\r' + std::string(21, ' ') + '\r',
                                                "epoch 1/1\n"}));
}

TEST_F(Line, ClearLeavesAnEmptyLine) {
  auto line = make({.terminal = true});
  line.clear();
  line.update(at(1), 0.0);
  line.clear();
  line.clear();
  EXPECT_EQ(written_,
            (std::vector<std::string>{"\repoch 1/1  step 1/100", '\r' + std::string(21, ' ') + '\r'}));
}

TEST_F(Line, NothingShownNothingEnded) {
  auto line = make({.terminal = true});
  line.finish();
  EXPECT_TRUE(written_.empty());
}

}  // namespace
}  // namespace tandem

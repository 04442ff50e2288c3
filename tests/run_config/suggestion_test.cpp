#include "run_config/suggestion.h"

#include <gtest/gtest.h>

#include <vector>

namespace tandem {
namespace {

TEST(EditDistance, CountsInsertDeleteReplaceAndSwap) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("momentum", "momentum"), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("momentun", "momentum"), 1);
  EXPECT_EQ(edit_distance("momntum", "momentum"), 1);
  EXPECT_EQ(edit_distance("momenttum", "momentum"), 1);
  EXPECT_EQ(edit_distance("mometnum", "momentum"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(NearestName, FindsTypingErrorsAndShortenedWords) {
  const std::vector<std::string> names = {"name",     "lr",           "momentum",
                                          "schedule", "warmup_steps", "warmup_epochs"};
  EXPECT_EQ(nearest_name("momentun", names), "momentum");
  EXPECT_EQ(nearest_name("Momentum", names), "momentum");
  EXPECT_EQ(nearest_name("naem", names), "name");
  EXPECT_EQ(nearest_name("lrr", names), "lr");
  EXPECT_EQ(nearest_name("sched", names), "schedule");
  EXPECT_EQ(nearest_name("warmup_step", names), "warmup_steps");
}

TEST(NearestName, SaysNothingWhenNothingIsNear) {
  const std::vector<std::string> names = {"name", "lr", "", "momentum"};
  for (const char* word : {"", "x", "dropout", "q_lora"})
    EXPECT_EQ(nearest_name(word, names), std::nullopt) << word;
  EXPECT_EQ(nearest_name(std::string(100'000, 'm'), names), std::nullopt);
  EXPECT_EQ(nearest_name("momentum", {}), std::nullopt);
}

TEST(JoinWithOr, ReadsLikeASentence) {
  EXPECT_EQ(join_with_or({}), "");
  EXPECT_EQ(join_with_or(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(join_with_or(std::vector<std::string>{"a", "b"}), "a or b");
  EXPECT_EQ(join_with_or(std::vector<std::string>{"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace tandem

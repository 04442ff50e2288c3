#include "report/paired_difference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/statistics.h"

namespace tandem {
namespace {

// Quantiles of Student's t as printed in tables: two-sided 95 % and 99 %.
TEST(Student, AgreesWithTheTables) {
  const struct {
    int freedom;
    double at_95;
    double at_99;
  } table[] = {{1, 12.706, 63.657}, {2, 4.303, 9.925},  {3, 3.182, 5.841},  {4, 2.776, 4.604},
               {5, 2.571, 4.032},   {9, 2.262, 3.250},  {10, 2.228, 3.169}, {29, 2.045, 2.756},
               {30, 2.042, 2.750},  {100, 1.984, 2.626}};
  for (const auto& row : table) {
    EXPECT_NEAR(student_quantile(0.95, row.freedom), row.at_95, 6e-4) << row.freedom;
    EXPECT_NEAR(student_quantile(0.99, row.freedom), row.at_99, 6e-4) << row.freedom;
    EXPECT_NEAR(student_probability(row.at_95, row.freedom), 0.95, 1e-4) << row.freedom;
  }
  EXPECT_EQ(student_probability(0.0, 3), 0.0);
}

// Differences of logarithms 0.1, 0.2, 0.3: mean 0.2, standard error 0.1 / sqrt(3), t(2) = 4.3027.
TEST(PairedDifference, IsTheIntervalOfTheMeanLogarithm) {
  const Samples a = {std::exp(0.1), 2.0 * std::exp(0.2), 3.0 * std::exp(0.3)};
  const Samples b = {1.0, 2.0, 3.0};
  const auto difference = paired_difference(a, b);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->pairs, 3);
  EXPECT_NEAR(difference->ratio, std::exp(0.2), 1e-12);
  EXPECT_NEAR(difference->low, std::exp(0.2 - 4.302653 * 0.1 / std::sqrt(3.0)), 1e-6);
  EXPECT_NEAR(difference->high, std::exp(0.2 + 4.302653 * 0.1 / std::sqrt(3.0)), 1e-6);
  EXPECT_NEAR(difference->p, 0.0742, 1e-4);
  EXPECT_FALSE(difference->beyond_noise());
}

TEST(PairedDifference, SwappingInverts) {
  const Samples a = {1.0, 1.1, 1.3};
  const Samples b = {2.0, 2.5, 2.4};
  const auto forth = paired_difference(a, b);
  const auto back = paired_difference(b, a);
  EXPECT_NEAR(forth->ratio * back->ratio, 1.0, 1e-12);
  EXPECT_NEAR(forth->low * back->high, 1.0, 1e-12);
  EXPECT_NEAR(forth->p, back->p, 1e-12);
}

// What slows a whole round cancels.
TEST(PairedDifference, SeesADifferenceThatRoundsHide) {
  const Samples a = {1.00, 5.05, 2.02, 9.10};
  const Samples b = {1.10, 5.50, 2.20, 9.90};
  EXPECT_TRUE(paired_difference(a, b)->beyond_noise());
  EXPECT_LT(paired_difference(a, b)->high, 1.0);
}

TEST(PairedDifference, MoreComparisonsWidenTheInterval) {
  const Samples a = {1.0, 1.1, 1.3};
  const Samples b = {2.0, 2.5, 2.4};
  EXPECT_LT(paired_difference(a, b, 5)->low, paired_difference(a, b)->low);
  EXPECT_EQ(paired_difference(a, b, 5)->p, paired_difference(a, b)->p);
}

TEST(PairedDifference, TakesTwoPairsAndLeavesIncompleteRoundsOut) {
  EXPECT_EQ(paired_difference(Samples{1.0}, Samples{2.0}), std::nullopt);
  EXPECT_EQ(paired_difference(Samples{1.0, {}}, Samples{2.0, 2.0}), std::nullopt);
  EXPECT_EQ(paired_difference(Samples{1.0, {}, 1.0}, Samples{2.0, 2.0, 2.0, 7.0})->pairs, 2);
}

TEST(PairedDifference, WithoutScatterIsExact) {
  const auto same = paired_difference(Samples{1.0, 2.0}, Samples{1.0, 2.0});
  EXPECT_EQ(*same, (PairedDifference{.pairs = 2}));
  const auto twice = paired_difference(Samples{2.0, 4.0}, Samples{1.0, 2.0});
  EXPECT_TRUE(twice->beyond_noise());
  EXPECT_NEAR(twice->p, 0.0, 1e-9);
}

}  // namespace
}  // namespace tandem

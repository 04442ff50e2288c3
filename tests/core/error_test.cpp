#include "core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using ::testing::HasSubstr;

TEST(Error, DescribesLibraryExpressionSiteRankAndHost) {
  const Error error("MPI", "MPI_Barrier(world)", "a rank is gone");
  const auto text = error.describe(3, "node7");
  for (const auto* part : {"a rank is gone", "MPI", "MPI_Barrier(world)", "error_test.cpp:", "3 on node7"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Error, ExpectationCarriesItsConditionAndMessage) {
  const int found = 3;
  try {
    TANDEM_EXPECT(found == 4, "expected 4, got {}", found);
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.expression(), "found == 4");
    EXPECT_EQ(error.message(), "expected 4, got 3");
    EXPECT_THAT(error.site(), HasSubstr("error_test.cpp"));
  }
}

TEST(InputError, ShowsAllFiveParts) {
  const InputError error({.what = "the learning rate is negative",
                          .where = "a.yaml:3 (optim.lr)",
                          .expected = "a number >= 0",
                          .found = "-1",
                          .advice = "set optim.lr to a positive number"});
  for (const auto* part : {"the learning rate is negative", "a.yaml:3 (optim.lr)", "a number >= 0", "-1",
                           "set optim.lr to a positive number"}) {
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

}  // namespace
}  // namespace tandem

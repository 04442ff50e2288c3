#include "page/page_template.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tandem {
namespace {

TEST(Template, FillsGapsAndDropsEmptySections) {
  const PageValues values = {{"a", "<b>{{c}}</b>"}, {"c", ""}, {"d", "x"}};
  EXPECT_EQ(fill_template("1 {{a}} 2 {{#c}}gone {{a}}{{/c}}{{#d}}[{{d}}]{{/d}} 3", values),
            "1 <b>{{c}}</b> 2 [x] 3");
}

TEST(Template, MistakesAreErrors) {
  EXPECT_THROW(fill_template("{{nobody}}", {}), Error);
  EXPECT_THROW(fill_template("{{#a}} no end", {{"a", "x"}}), Error);
  EXPECT_THROW(fill_template("{{a", {{"a", "x"}}), Error);
}

}  // namespace
}  // namespace tandem

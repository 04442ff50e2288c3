#include "page/html_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(EscapeHtml, NothingOfARecordCanBeMarkup) {
  EXPECT_EQ(escape_html("<script>alert(\"1\")</script> & 'x'"),
            "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;");
}

TEST(EscapeHtml, KeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(escape_html("a × ö — 𝛼\n\t"), "a × ö — 𝛼\n\t");
  // A byte alone, an overlong "/", half a sequence, a surrogate, beyond Unicode, control characters.
  for (const char* text : {"\xFF", "\xC0", "\xC3", "\x01", "\x7F"})
    EXPECT_EQ(escape_html(text), "\uFFFD") << text;
  EXPECT_EQ(escape_html("\xC0\xAF"), "\uFFFD\uFFFD");
  EXPECT_EQ(escape_html("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(escape_html("\xF5\x80\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(escape_html(std::string_view("\0", 1)), "\uFFFD");
}

TEST(HtmlTable, HeadersAreScopedAndCellsEscaped) {
  TextTable table({{"link<b>", Align::Left}, {"ms"}});
  table.add_row({"<img src=x>", "1.5"});
  const auto html = html_table(table, "a \"caption\"");
  EXPECT_THAT(html, HasSubstr("<caption>a &quot;caption&quot;</caption>"));
  EXPECT_THAT(html,
              HasSubstr("<th scope=\"col\">link&lt;b&gt;</th><th scope=\"col\" class=\"number\">ms</th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">&lt;img src=x&gt;</th><td class=\"number\">1.5</td>"));
  EXPECT_THAT(html, HasSubstr("tabindex=\"0\" role=\"region\""));
}

TEST(HtmlParts, NothingGivesNothing) {
  EXPECT_EQ(html_list({}), "");
  EXPECT_EQ(html_facts({}, "x"), "");
  EXPECT_EQ(html_conclusions({}, 3), "");
  EXPECT_EQ(html_tiles({}), "");
}

TEST(JobCommand, NamesTheRanksUnlessItDoesAlready) {
  EXPECT_EQ(job_command("./trainer --config a.yaml", 2), "mpirun -np 2 ./trainer --config a.yaml");
  EXPECT_EQ(job_command("./trainer --config a.yaml", 1), "./trainer --config a.yaml");
  EXPECT_EQ(job_command("mpirun -np 2 ./trainer", 2), "mpirun -np 2 ./trainer");
}

}  // namespace
}  // namespace tandem

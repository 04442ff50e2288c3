#include "report/text_table.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"

namespace tandem {
namespace {

TEST(TextTable, MarkdownAlignsItsColumns) {
  TextTable table({{"link", Align::Left}, {"s"}});
  table.add_row({"shm", "1.25"});
  table.add_row({"paced tcp", "10"});
  EXPECT_EQ(table.markdown(),
            "| link      |    s |\n"
            "| --------- | ---: |\n"
            "| shm       | 1.25 |\n"
            "| paced tcp |   10 |\n");
}

TEST(TextTable, WidthsCountCharactersNotBytes) {
  TextTable table({{"range"}});
  table.add_row({"1–2"});
  table.add_row({"12345"});
  EXPECT_EQ(table.markdown(), "| range |\n| ----: |\n|   1–2 |\n| 12345 |\n");
}

TEST(TextTable, MarkdownCellsCannotEndTheirRow) {
  TextTable table({{"a|b", Align::Left}});
  table.add_row({"x\r\ny|z"});
  EXPECT_EQ(table.markdown(), "| a\\|b   |\n| ------ |\n| x y\\|z |\n");
}

TEST(TextTable, CsvQuotesExactlyWhatNeedsIt) {
  TextTable table({{"plain"}, {"with, comma"}});
  table.add_row({"", "say \"hi\""});
  table.add_row({"two\nlines", " outer blank"});
  table.add_row({"inner blank", "1–2|3;4"});
  table.add_row({"cr\r", "'single'"});
  EXPECT_EQ(table.csv(),
            "plain,\"with, comma\"\n"
            ",\"say \"\"hi\"\"\"\n"
            "\"two\nlines\",\" outer blank\"\n"
            "inner blank,1–2|3;4\n"
            "\"cr\r\",'single'\n");
}

TEST(TextTable, AnEmptyTableIsItsHeader) {
  const TextTable table({{"a"}, {"b"}});
  EXPECT_EQ(table.rows(), 0u);
  EXPECT_EQ(table.csv(), "a,b\n");
  EXPECT_EQ(table.markdown(), "|   a |   b |\n| --: | --: |\n");
}

TEST(TextTable, RowsMustFit) {
  TextTable table({{"a"}, {"b"}});
  EXPECT_THROW(table.add_row({"1"}), Error);
  EXPECT_THROW(table.add_row({"1", "2", "3"}), Error);
  EXPECT_THROW(TextTable({}), Error);
}

TEST(WithThousands, GroupsByThree) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(25'557'032), "25,557,032");
  EXPECT_EQ(with_thousands(-100), "-100");
  EXPECT_EQ(with_thousands(-1000), "-1,000");
  EXPECT_EQ(with_thousands(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

}  // namespace
}  // namespace tandem

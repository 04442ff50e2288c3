#include "run_config/yaml_text.h"

#include <gtest/gtest.h>

#include "parse_error.h"

namespace tandem {
namespace {

using std::string_literals::operator""s;

TEST(CleanText, AcceptsAByteOrderMarkAndWindowsLineEnds) {
  EXPECT_EQ(clean_text("\xEF\xBB\xBFseed: 3\r\nmodel:\r\n", "x.yaml"), "seed: 3\nmodel:\n");
  const RunConfig config = parse_run_config("\xEF\xBB\xBFseed: 3\r\ntrain:\r\n  epochs: 2\r\n", "x.yaml", {});
  EXPECT_EQ(config.seed, 3);
  EXPECT_EQ(config.train.epochs, 2);
}

// With such bytes in the file, positions still count lines and characters as an editor shows them.
TEST(CleanText, PositionsAreThoseOfTheEditor) {
  EXPECT_EQ(parse_problem("\xEF\xBB\xBFsede: 3\r\n").where, "x.yaml:1:1 (sede)");
  EXPECT_EQ(parse_problem("seed: 3\r\n\r\ntrain:\r\n  epoch: 2\r\n").where, "x.yaml:4:3 (train.epoch)");
  EXPECT_EQ(parse_problem("{report: {dir: \"données\"}, sede: 3}").where, "x.yaml:1:28 (sede)");
}

struct BadText {
  const char* name;
  std::string text;
  std::string what;
  std::string where;
  std::string found;
};

class CleanTextRefuses : public ::testing::TestWithParam<BadText> {};

TEST_P(CleanTextRefuses, WithThePosition) {
  const InputProblem problem = parse_problem(GetParam().text);
  EXPECT_EQ(problem.what, GetParam().what);
  EXPECT_EQ(problem.where, GetParam().where);
  EXPECT_EQ(problem.found, GetParam().found);
}

const char* const kNotUtf8 = "the config file is not UTF-8";
const char* const kControl = "control character in the config file";
const char* const kTab = "tab in the indentation";

INSTANTIATE_TEST_SUITE_P(
    , CleanTextRefuses,
    ::testing::Values(
        BadText{"Latin1", "seed: 3\n# caf\xE9\n", kNotUtf8, "x.yaml:2:6", "the byte 0xE9"},
        BadText{"AfterOtherCharacters", "# é\xFF\n", kNotUtf8, "x.yaml:1:4", "the byte 0xFF"},
        BadText{"CutOffCharacter", "# \xE2\x82", kNotUtf8, "x.yaml:1:3", "the byte 0xE2"},
        BadText{"OverlongForm", "# \xC0\xAF", kNotUtf8, "x.yaml:1:3", "the byte 0xC0"},
        BadText{"OverlongThreeBytes", "# \xE0\x80\xAF", kNotUtf8, "x.yaml:1:3", "the byte 0xE0"},
        BadText{"Surrogate", "# \xED\xA0\x80", kNotUtf8, "x.yaml:1:3", "the byte 0xED"},
        BadText{"PastUnicode", "# \xF4\x90\x80\x80", kNotUtf8, "x.yaml:1:3", "the byte 0xF4"},
        BadText{"LoneContinuation", "# \x80", kNotUtf8, "x.yaml:1:3", "the byte 0x80"},
        BadText{"Utf16", "\xFF\xFEs\0"s, kNotUtf8, "x.yaml", "a UTF-16 or UTF-32 byte order mark"},
        BadText{"Utf16BigEndian", "\xFE\xFF\0s"s, kNotUtf8, "x.yaml", "a UTF-16 or UTF-32 byte order mark"},
        BadText{"Utf16WithoutMark", "s\0e\0"s, kControl, "x.yaml:1:2", "the byte 0x00"},
        BadText{"Escape", "seed: \x1B[3m\n", kControl, "x.yaml:1:7", "the byte 0x1B"},
        BadText{"LoneCarriageReturn", "seed: 3\rmodel:\r", kControl, "x.yaml:1:8", "the byte 0x0D"},
        BadText{"Delete", "seed: 3\n\x7F", kControl, "x.yaml:2:1", "the byte 0x7F"},
        BadText{"Tab", "train:\n\tepochs: 3\n", kTab, "x.yaml:2:1", "a tab"},
        BadText{"TabAfterSpaces", "train:\n  \tepochs: 3\n", kTab, "x.yaml:2:3", "a tab"},
        BadText{"TooLarge", std::string(65537, '#'), "the config file is too large", "x.yaml",
                "65537 bytes"}),
    [](const auto& test) { return test.param.name; });

TEST(CleanText, ATabBehindAValueIsHarmless) {
  EXPECT_EQ(parse_run_config("seed:\t3\t# three\n", "x.yaml", {}).seed, 3);
}

TEST(IsPrintableLine, TakesOneLineOfValidText) {
  for (const char* text : {"", "a b", "données", "日本", "😀"}) EXPECT_TRUE(is_printable_line(text)) << text;
  for (const char* text : {"a\tb", "a\n", "\x01", "\x7F", "\xFF"})
    EXPECT_FALSE(is_printable_line(text)) << text;
}

}  // namespace
}  // namespace tandem

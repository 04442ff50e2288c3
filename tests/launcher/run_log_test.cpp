#include "launcher/run_log.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

// Bytes may come in any pieces: all at once, and one by one.
std::string plain(std::string_view bytes) {
  std::string whole;
  PlainLines at_once([&whole](std::string_view line) { whole += line; });
  at_once.write(bytes);
  at_once.finish();

  std::string pieces;
  PlainLines one_by_one([&pieces](std::string_view line) { pieces += line; });
  for (std::size_t i = 0; i < bytes.size(); ++i) one_by_one.write(bytes.substr(i, 1));
  one_by_one.finish();
  EXPECT_EQ(whole, pieces);
  return whole;
}

TEST(PlainLines, KeepsPlainTextAsItIs) {
  EXPECT_EQ(plain(""), "");
  EXPECT_EQ(plain("one\n\ntwo\n"), "one\n\ntwo\n");
  EXPECT_EQ(plain("é ✓\n"), "é ✓\n");
}

TEST(PlainLines, EndsALastLine) {
  EXPECT_EQ(plain("error"), "error\n");
}

TEST(PlainLines, ALineThatOverwroteItselfIsKeptAsItLastWas) {
  EXPECT_EQ(plain("\rstep 1\rstep 2\n"), "step 2\n");
  EXPECT_EQ(plain("step 100\rstep 2  \nnext\n"), "step 2\nnext\n");
  EXPECT_EQ(plain("windows\r\n"), "windows\n");
  EXPECT_EQ(plain("a\r\r\nb\n"), "a\nb\n");
}

TEST(PlainLines, LeavesEscapeSequencesOut) {
  EXPECT_EQ(plain("\x1b[1mbold\x1b[0m \x1b[38;5;12mblue\x1b[m\n"), "bold blue\n");
  EXPECT_EQ(plain("\x1b"
                  "7saved\n"),
            "saved\n");
}

}  // namespace
}  // namespace tandem

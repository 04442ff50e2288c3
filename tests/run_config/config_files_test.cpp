// The configs that are shipped: they must be accepted, and nothing that happens to their bytes may do harm.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "parse_error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> shipped_configs() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(TANDEM_CONFIGS)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  return files;
}

std::string contents_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Accepted, and then printed and read back as the same; or refused with an InputError that says where. Any
// other exception leaves the test by itself.
bool is_accepted(const std::string& text) {
  RunConfig config;
  try {
    config = parse_run_config(text, "x.yaml", {});
  } catch (const InputError& error) {
    EXPECT_FALSE(error.problem().where.empty()) << text;
    EXPECT_FALSE(error.problem().expected.empty()) << text;
    EXPECT_FALSE(error.problem().found.empty()) << text;
    return false;
  }
  EXPECT_EQ(parse_run_config(to_yaml(config), "x.yaml", {}), config) << text;
  return true;
}

TEST(ShippedConfigs, AreAcceptedAndReadBackTheSame) {
  ASSERT_GE(shipped_configs().size(), 3u);
  for (const fs::path& file : shipped_configs()) {
    const RunConfig config = load_run_config(file, {});
    EXPECT_EQ(config.report.name, file.stem().string());
    EXPECT_EQ(parse_run_config(to_yaml(config), "x.yaml", {}), config);
  }
}

TEST(ShippedConfigs, CutOffAnywhereAreReadOrRefused) {
  for (const fs::path& file : shipped_configs()) {
    const std::string text = contents_of(file);
    int accepted = 0;
    for (std::size_t bytes = 0; bytes <= text.size(); ++bytes)
      accepted += is_accepted(text.substr(0, bytes)) ? 1 : 0;
    EXPECT_GT(accepted, 0) << file;
  }
}

using std::string_view_literals::operator""sv;
constexpr std::string_view kBytes = "\0\t\n\r :-?#&*!|>'\"%@`{}[],0x\\\x7F\x80\xC3\xFF"sv;

// Tries each shipped config with change(text, place) made at each of its places.
template <class Change>
void try_every_place(const Change& change) {
  for (const fs::path& file : shipped_configs()) {
    const std::string text = contents_of(file);
    for (std::size_t at = 0; at < text.size(); ++at) {
      std::string changed = text;
      change(changed, at);
      is_accepted(changed);
    }
  }
}

// Three tests, since they take minutes under the sanitizers and can run side by side.
TEST(ShippedConfigs, WithAnyByteReplacedAreReadOrRefused) {
  try_every_place([](std::string& text, std::size_t at) { text[at] = kBytes[at % kBytes.size()]; });
}
TEST(ShippedConfigs, WithAByteInsertedAnywhereAreReadOrRefused) {
  try_every_place(
      [](std::string& text, std::size_t at) { text.insert(at, 1, kBytes[(at * 7 + 3) % kBytes.size()]); });
}
TEST(ShippedConfigs, WithAnyByteErasedAreReadOrRefused) {
  try_every_place([](std::string& text, std::size_t at) { text.erase(at, 1); });
}

// Hostile text of the greatest size that is read: refused, and soon.
TEST(ShippedConfigs, RepeatedSyntaxIsRefused) {
  for (const char* piece : {"[",      "{",  "? ",  "- ",   "&a ",    "\"",   "#",     "a: ", "a:\n",
                            "- - \n", "'",  "|\n", "{a: ", "[a,",    "%a\n", "---\n", "!",   "*a ",
                            "a",      "\\", "\n ", " a\n", "a: b\n", "[]: ", "{? "}) {
    std::string text;
    while (text.size() + std::string_view(piece).size() <= 65536) text += piece;
    EXPECT_FALSE(is_accepted(text)) << piece;
  }
}

}  // namespace
}  // namespace tandem

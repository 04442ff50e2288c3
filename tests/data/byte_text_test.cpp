#include "data/byte_text.h"

#include "data_files.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::expect_input_error;
using testing::TemporaryFolder;

std::string text_of(std::span<const std::int32_t> tokens) {
  return {tokens.begin(), tokens.end()};
}

// The whole text again from its samples: the first token, then all targets.
std::string text_of(const TokenDataset& dataset) {
  std::vector<std::int32_t> inputs(static_cast<std::size_t>(dataset.sequence_length()));
  std::vector<std::int32_t> targets = inputs;
  std::string text;
  for (std::int64_t index = 0; index < dataset.samples(); ++index) {
    dataset.read(index, inputs, targets);
    if (index == 0) text += static_cast<char>(inputs[0]);
    text += text_of(targets);
  }
  return text;
}

TEST(ByteText, SamplesAreConsecutiveWindowsShiftedByOne) {
  const TemporaryFolder folder;
  const auto split = open_byte_text(folder.write("text", "abcdefghij"), {.sequence_length = 3});
  EXPECT_EQ(split.held_out, nullptr);
  ASSERT_EQ(split.train->samples(), 3);
  EXPECT_EQ(split.train->vocabulary(), 256);
  std::vector<std::int32_t> inputs(3);
  std::vector<std::int32_t> targets(3);
  const std::string expected[] = {"abc", "bcd", "def", "efg", "ghi", "hij"};
  for (std::int64_t index = 0; index < 3; ++index) {
    split.train->read(index, inputs, targets);
    EXPECT_EQ(text_of(inputs), expected[2 * index]);
    EXPECT_EQ(text_of(targets), expected[2 * index + 1]);
  }
  EXPECT_THROW(split.train->read(3, inputs, targets), Error);
  EXPECT_THROW(split.train->read(0, std::span(inputs).first(2), targets), Error);
}

TEST(ByteText, BytesAboveAsciiAreTokensUpTo255) {
  const TemporaryFolder folder;
  const auto split =
      open_byte_text(folder.write("text", testing::Bytes{0, 127, 128, 255}), {.sequence_length = 3});
  std::vector<std::int32_t> inputs(3);
  std::vector<std::int32_t> targets(3);
  split.train->read(0, inputs, targets);
  EXPECT_EQ(targets, (std::vector<std::int32_t>{127, 128, 255}));
}

TEST(ByteText, EveryLengthGivesAsManySamplesAsFit) {
  const TemporaryFolder folder;
  for (std::int64_t bytes = 0; bytes <= 13; ++bytes) {
    const auto path = folder.write("text", std::string(static_cast<std::size_t>(bytes), 'x'));
    if (bytes < 5) {
      expect_input_error([&] { open_byte_text(path, {.sequence_length = 4}); }, "text");
    } else {
      EXPECT_EQ(open_byte_text(path, {.sequence_length = 4}).train->samples(), (bytes - 1) / 4) << bytes;
    }
  }
}

TEST(ByteText, FoldersAreReadInSortedOrderAndEachFileOnce) {
  const TemporaryFolder outside;
  const TemporaryFolder folder;
  folder.write("b", "BB");
  folder.write("a/z", "AZ");
  folder.write("a/c", "AC");
  folder.write(".hidden", "no");
  folder.write(".git/object", "no");
  outside.write("elsewhere", "EE");
  fs::create_symlink("b", folder.path() / "a_link_to_b");
  fs::create_directory_symlink("..", folder.path() / "a/cycle");
  EXPECT_EQ(text_of(*open_byte_text(folder.path(), {.sequence_length = 1}).train), "ACAZBB");
  fs::create_symlink(outside.path() / "elsewhere", folder.path() / "linked");
  EXPECT_EQ(list_text_files(folder.path()).size(), 4u);
}

TEST(ByteText, TheEndIsHeldOutAndNothingIsInBothParts) {
  const TemporaryFolder folder;
  const std::string text = "0123456789abcdefghij";
  const auto split =
      open_byte_text(folder.write("text", text), {.sequence_length = 1, .validation_fraction = 0.25});
  EXPECT_EQ(text_of(*split.train), text.substr(0, 15));
  EXPECT_EQ(text_of(*split.held_out), text.substr(15));
  expect_input_error(
      [&] { open_byte_text(folder.path(), {.sequence_length = 5, .validation_fraction = 0.25}); },
      folder.path().string());
  expect_input_error(
      [&] { open_byte_text(folder.path(), {.sequence_length = 5, .validation_fraction = 0.9}); },
      folder.path().string());
  EXPECT_THROW(open_byte_text(folder.path(), {.sequence_length = 5, .validation_fraction = 1.0}), Error);
}

TEST(ByteText, WhatIsNotTextIsAnError) {
  const TemporaryFolder folder;
  expect_input_error([&] { list_text_files(folder.path() / "missing"); }, "missing");
  expect_input_error([&] { list_text_files(folder.path()); }, folder.path().string());
  expect_input_error([&] { list_text_files("/dev/null"); }, "/dev/null");
  fs::create_symlink("nothing", folder.path() / "dangling");
  expect_input_error([&] { list_text_files(folder.path()); }, "dangling");
}

TEST(ByteText, TheLicenceTextsOfTheSystemAreEachReadOnce) {
  const fs::path directory = "/usr/share/common-licenses";
  if (!fs::is_directory(directory)) GTEST_SKIP() << directory << " does not exist";
  std::int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (!entry.is_symlink()) bytes += static_cast<std::int64_t>(entry.file_size());
  }
  const auto split = open_byte_text(directory, {.sequence_length = 128});
  EXPECT_EQ(split.train->samples(), (bytes - 1) / 128);
}

}  // namespace
}  // namespace tandem

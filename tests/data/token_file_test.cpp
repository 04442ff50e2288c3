#include "data/token_file.h"

#include <cstring>

#include "data/token_writer.h"
#include "data_files.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::Bytes;
using testing::expect_input_error;
using testing::TemporaryFolder;

template <class Number>
void put(Bytes& bytes, std::size_t offset, Number number) {
  std::memcpy(bytes.data() + offset, &number, sizeof number);
}

Bytes token_file(std::uint32_t width, std::uint64_t tokens, std::uint64_t vocabulary) {
  Bytes bytes(32, 0);
  std::memcpy(bytes.data(), "TANDEMTK", 8);
  put(bytes, 8, std::uint32_t{1});
  put(bytes, 12, width);
  put(bytes, 16, tokens);
  put(bytes, 24, vocabulary);
  return bytes;
}

// Five tokens, 1 to 5, of two bytes.
Bytes good_file() {
  Bytes bytes = token_file(2, 5, 6);
  for (std::uint8_t token = 1; token <= 5; ++token) bytes.insert(bytes.end(), {token, 0});
  return bytes;
}

void write_tokens(const fs::path& path, std::int64_t vocabulary, const std::vector<std::int32_t>& tokens) {
  TokenWriter writer(path, vocabulary);
  writer.append(tokens);
  writer.finish();
}

void expect_bad(const Bytes& bytes) {
  const TemporaryFolder folder;
  const auto path = folder.write("tokens.bin", bytes);
  expect_input_error([&] { open_token_file(path, 2); }, "tokens.bin");
}

TEST(TokenFile, WritesTheDocumentedBytes) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "tokens.bin";
  write_tokens(path, 6, {1, 2, 3, 4, 5});
  std::ifstream file(path, std::ios::binary);
  EXPECT_EQ(Bytes(std::istreambuf_iterator<char>(file), {}), good_file());
}

TEST(TokenFile, GivesBackWhatWasWrittenInBothWidths) {
  const TemporaryFolder folder;
  for (const std::int64_t vocabulary : {std::int64_t{65536}, std::int64_t{65537}, std::int64_t{1} << 31}) {
    const auto path = folder.path() / "tokens.bin";
    const auto last = static_cast<std::int32_t>(vocabulary - 1);
    write_tokens(path, vocabulary, {last, 1, 0, 4, last});
    EXPECT_EQ(fs::file_size(path), 32u + 5u * (vocabulary <= 65536 ? 2u : 4u));
    const auto dataset = open_token_file(path, 2);
    ASSERT_EQ(dataset->samples(), 2);
    EXPECT_EQ(dataset->vocabulary(), vocabulary);
    std::vector<std::int32_t> inputs(2);
    std::vector<std::int32_t> targets(2);
    dataset->read(0, inputs, targets);
    EXPECT_EQ(inputs, (std::vector<std::int32_t>{last, 1}));
    EXPECT_EQ(targets, (std::vector<std::int32_t>{1, 0}));
    dataset->read(1, inputs, targets);
    EXPECT_EQ(inputs, (std::vector<std::int32_t>{0, 4}));
    EXPECT_EQ(targets, (std::vector<std::int32_t>{4, last}));
    EXPECT_THROW(dataset->read(2, inputs, targets), Error);
  }
}

TEST(TokenFile, EveryTruncationIsAnError) {
  const Bytes bytes = good_file();
  for (std::size_t kept = 0; kept < bytes.size(); ++kept) {
    SCOPED_TRACE(kept);
    expect_bad(testing::first(bytes, kept));
  }
}

TEST(TokenFile, EveryWrongBitOfTheHeaderIsFound) {
  for (std::size_t at = 0; at < 24;
       ++at) {  // a larger vocabulary, the last 8 bytes, is not an error in itself
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bytes = good_file();
      bytes[at] ^= static_cast<std::uint8_t>(1 << bit);
      SCOPED_TRACE(::testing::Message() << "byte " << at << " bit " << bit);
      expect_bad(bytes);
    }
  }
}

TEST(TokenFile, HostileHeadersAreErrors) {
  const Bytes payload(10, 0);
  using testing::operator+;
  expect_bad(good_file() + Bytes{0});                                    // half a token
  expect_bad(good_file() + Bytes{0, 0});                                 // one token more
  expect_bad(token_file(2, (std::uint64_t{1} << 63) + 5, 6) + payload);  // times 2 it wraps to the right size
  expect_bad(token_file(4, (std::uint64_t{1} << 62) + 5, 6) + Bytes(20, 0));
  expect_bad(token_file(2, ~std::uint64_t{0}, 6) + payload);
  expect_bad(token_file(1, 10, 6) + payload);
  expect_bad(token_file(0, 5, 6) + payload);
  expect_bad(token_file(2, 5, 0) + payload);
  expect_bad(token_file(2, 5, 65537) + payload);
  expect_bad(token_file(4, 5, (std::uint64_t{1} << 31) + 1) + Bytes(20, 0));
  expect_bad(token_file(2, 0, 6));
  expect_bad(token_file(2, 2, 6) + Bytes(4, 0));  // one token short of a sample
}

TEST(TokenFile, TokensOutsideTheVocabularyAreFoundWhenRead) {
  const TemporaryFolder folder;
  for (std::size_t token = 0; token < 5; ++token) {
    Bytes bytes = good_file();
    bytes[32 + 2 * token] = 6;
    const auto dataset = open_token_file(folder.write("tokens.bin", bytes), 4);
    std::vector<std::int32_t> inputs(4);
    std::vector<std::int32_t> targets(4);
    expect_input_error([&] { dataset->read(0, inputs, targets); }, "tokens.bin");
  }
}

TEST(TokenFile, OffsetsBeyondTwoGibibytesAreRight) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kTokens = (std::uint64_t{3} << 30) / 2;
  constexpr std::int64_t kLength = 1000;
  const auto path = folder.write("sparse.bin", token_file(2, kTokens, 50257));
  fs::resize_file(path, 32 + 2 * kTokens);
  const std::int64_t last = static_cast<std::int64_t>(kTokens - 1) / kLength - 1;
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(32 + 2 * last * kLength);
    for (std::uint16_t token = 0; token <= kLength; ++token) {
      const auto value = static_cast<std::uint16_t>(token + 7);
      file.write(reinterpret_cast<const char*>(&value), 2);
    }
    ASSERT_TRUE(file.flush());
  }
  const auto dataset = open_token_file(path, kLength);
  ASSERT_EQ(dataset->samples(), last + 1);
  std::vector<std::int32_t> inputs(kLength);
  std::vector<std::int32_t> targets(kLength);
  dataset->read(last, inputs, targets);
  for (std::int32_t t = 0; t < kLength; ++t) {
    ASSERT_EQ(inputs[static_cast<std::size_t>(t)], t + 7);
    ASSERT_EQ(targets[static_cast<std::size_t>(t)], t + 8);
  }
}

TEST(TokenFile, WhatIsNotAFileIsAnError) {
  const TemporaryFolder folder;
  expect_input_error([&] { open_token_file(folder.path() / "missing", 2); }, "missing");
  expect_input_error([&] { open_token_file(folder.path(), 2); }, folder.path().string());
  expect_input_error([&] { open_token_file(folder.write("empty", Bytes{}), 2); }, "empty");
}

TEST(TokenWriter, LeavesNothingBehindWithoutFinish) {
  const TemporaryFolder folder;
  {
    TokenWriter writer(folder.path() / "tokens.bin", 6);
    writer.append(std::vector<std::int32_t>{1, 2});
    EXPECT_FALSE(fs::exists(folder.path() / "tokens.bin"));
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(TokenWriter, RefusesTokensOutsideTheVocabulary) {
  const TemporaryFolder folder;
  TokenWriter writer(folder.path() / "tokens.bin", 6);
  for (const std::int32_t token : {-1, 6, 65536}) {
    expect_input_error([&] { writer.append(std::vector<std::int32_t>{0, token}); }, "tokens.bin");
  }
  EXPECT_THROW(writer.finish(), Error);  // nothing was written
}

TEST(TokenWriter, SaysWhenTheFolderIsNotThere) {
  const TemporaryFolder folder;
  expect_input_error([&] { TokenWriter(folder.path() / "no/tokens.bin", 6); }, "tokens.bin");
}

}  // namespace
}  // namespace tandem

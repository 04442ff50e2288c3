#include "data/file_bytes.h"

#include "data_files.h"

namespace tandem {
namespace {

using testing::Bytes;
using testing::expect_input_error;
using testing::gzip;
using testing::TemporaryFolder;
using testing::operator+;

constexpr std::int64_t kLimit = 1 << 24;

Bytes varied_bytes(std::size_t count) {
  Bytes bytes(count);
  std::uint32_t state = 1;
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  return bytes;
}

TEST(FileBytes, PlainAndGzipGiveTheSameContent) {
  const TemporaryFolder folder;
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{65537}, std::size_t{1000003}}) {
    const Bytes content = varied_bytes(count);
    EXPECT_EQ(read_plain_or_gzip(folder.write("plain", content), kLimit), content);
    EXPECT_EQ(read_plain_or_gzip(folder.write("packed", gzip(content)), kLimit), content);
  }
}

TEST(FileBytes, GzipMembersAreJoined) {
  const TemporaryFolder folder;
  const auto path = folder.write("two.gz", gzip({1, 2}) + gzip({3}));
  EXPECT_EQ(read_plain_or_gzip(path, kLimit), (Bytes{1, 2, 3}));
}

TEST(FileBytes, EveryTruncationOfAGzipFileIsAnError) {
  const TemporaryFolder folder;
  const Bytes packed = gzip(varied_bytes(300));
  for (std::size_t kept = 2; kept < packed.size(); ++kept) {  // from 2 on: before that it is not a gzip file
    const auto path = folder.write("cut.gz", testing::first(packed, kept));
    SCOPED_TRACE(kept);
    expect_input_error([&] { read_plain_or_gzip(path, kLimit); }, "cut.gz");
  }
}

TEST(FileBytes, ADamagedByteIsAnErrorOrHarmless) {
  const TemporaryFolder folder;
  const Bytes content(500, 7);
  const Bytes packed = gzip(content);
  std::size_t errors = 0;
  for (std::size_t at = 2; at < packed.size(); ++at) {
    Bytes damaged = packed;
    damaged[at] ^= 0x55;
    const auto path = folder.write("damaged.gz", damaged);
    try {
      EXPECT_EQ(read_plain_or_gzip(path, kLimit), content) << at;  // the header's time stamp and the like
    } catch (const InputError&) {
      ++errors;
    }
  }
  EXPECT_GE(errors, packed.size() - 10);  // a gzip header has 10 bytes; all after it is checked
}

TEST(FileBytes, BytesAfterTheGzipStreamAreAnError) {
  const TemporaryFolder folder;
  for (const Bytes& rest : {Bytes{0}, Bytes{0x1f}, Bytes{0x1f, 0x8b}, Bytes{1, 2, 3}}) {
    const auto path = folder.write("long.gz", gzip({1, 2}) + rest);
    expect_input_error([&] { read_plain_or_gzip(path, kLimit); }, "long.gz");
  }
}

TEST(FileBytes, TheLimitHoldsForPlainAndPackedContent) {
  const TemporaryFolder folder;
  const Bytes content(100000, 0);
  for (const Bytes& file : {content, gzip(content)}) {
    const auto path = folder.write("file", file);
    EXPECT_EQ(read_plain_or_gzip(path, 100000).size(), 100000u);
    expect_input_error([&] { read_plain_or_gzip(path, 99999); }, "file");
  }
}

TEST(FileBytes, WhatIsNotAFileIsAnError) {
  const TemporaryFolder folder;
  expect_input_error([&] { read_bytes(folder.path() / "missing"); }, "missing");
  expect_input_error([&] { read_bytes(folder.path()); }, folder.path().string());
  expect_input_error([&] { read_bytes("/dev/null"); }, "/dev/null");
}

}  // namespace
}  // namespace tandem

#include "data/cifar10.h"

#include "data_files.h"

namespace tandem {
namespace {

using testing::Bytes;
using testing::expect_input_error;
using testing::TemporaryFolder;

constexpr std::size_t kRecord = 3073;
constexpr std::size_t kFile = 10000 * kRecord;

// The first record is `label` and pixels whose red, green and blue planes count up from 0, 80 and 160.
Bytes batch(std::uint8_t label) {
  Bytes bytes(kFile, 0);
  bytes[0] = label;
  for (std::size_t pixel = 0; pixel < 1024; ++pixel) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      bytes[1 + channel * 1024 + pixel] = static_cast<std::uint8_t>(80 * channel + pixel % 80);
    }
  }
  return bytes;
}

class Cifar10Test : public ::testing::Test {
 protected:
  // Batches 2 to 4 are one file under three names, to keep the test's disk use low.
  void write_all() const {
    folder_.write("data_batch_1.bin", batch(1));
    folder_.write("data_batch_2.bin", batch(2));
    for (const char* name : {"data_batch_3.bin", "data_batch_4.bin"}) {
      std::filesystem::create_hard_link(folder_.path() / "data_batch_2.bin", folder_.path() / name);
    }
    folder_.write("data_batch_5.bin", batch(5));
    folder_.write("test_batch.bin", batch(9));
  }

  TemporaryFolder folder_;
};

TEST_F(Cifar10Test, ReadsAllSixFilesAsHeightWidthChannel) {
  write_all();
  const auto split = open_cifar10_directory(folder_.path());
  ASSERT_EQ(split.train->samples(), 50000);
  ASSERT_EQ(split.held_out->samples(), 10000);
  EXPECT_EQ(split.train->shape(), (ImageShape{32, 32, 3}));
  const std::int32_t labels[] = {1, 2, 2, 2, 5};
  for (std::int64_t file = 0; file < 5; ++file)
    EXPECT_EQ(split.train->sample(10000 * file).label, labels[file]);
  const ImageSample sample = split.held_out->sample(0);
  EXPECT_EQ(sample.label, 9);
  for (std::size_t pixel = 0; pixel < 1024; ++pixel) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      ASSERT_EQ(sample.pixels[3 * pixel + channel], 80 * channel + pixel % 80);
    }
  }
}

TEST_F(Cifar10Test, EveryMissingFileIsNamed) {
  write_all();
  for (const char* name : {"data_batch_5.bin", "test_batch.bin"}) {
    std::filesystem::rename(folder_.path() / name, folder_.path() / "away");
    expect_input_error([&] { open_cifar10_directory(folder_.path()); }, name);
    std::filesystem::rename(folder_.path() / "away", folder_.path() / name);
  }
}

TEST_F(Cifar10Test, OtherLengthsAreErrors) {
  const auto path = folder_.write("data_batch_1.bin", batch(1));
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, kRecord, kFile - kRecord, kFile - 1,
                                   kFile + 1, kFile + kRecord, 2 * kFile}) {
    std::filesystem::resize_file(path, length);
    SCOPED_TRACE(length);
    expect_input_error([&] { open_cifar10_directory(folder_.path()); }, "data_batch_1.bin");
  }
}

TEST_F(Cifar10Test, ALabelAboveNineIsAnError) {
  Bytes bytes = batch(1);
  bytes[9999 * kRecord] = 10;
  folder_.write("data_batch_1.bin", bytes);
  expect_input_error([&] { open_cifar10_directory(folder_.path()); }, "data_batch_1.bin");
}

}  // namespace
}  // namespace tandem

#include "data/idx.h"

#include "data_files.h"

namespace tandem {
namespace {

using testing::Bytes;
using testing::expect_input_error;
using testing::gzip;
using testing::TemporaryFolder;
using testing::operator+;

Bytes header(std::uint8_t type, const std::vector<std::uint32_t>& extents) {
  Bytes bytes = {0, 0, type, static_cast<std::uint8_t>(extents.size())};
  for (const std::uint32_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(extent >> shift));
  }
  return bytes;
}

// Three images of 2 x 2.
Bytes good_images() {
  return header(8, {3, 2, 2}) + Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
}
Bytes good_labels() {
  return header(8, {3}) + Bytes{9, 0, 5};
}

class IdxFilesTest : public ::testing::Test {
 protected:
  std::unique_ptr<ImageDataset> open(const Bytes& images, const Bytes& labels) const {
    return open_idx({folder_.write("images", images), folder_.write("labels", labels)});
  }
  void expect_bad_images(const Bytes& images) const {
    expect_input_error([&] { open(images, good_labels()); }, "images");
  }
  void expect_bad_labels(const Bytes& labels) const {
    expect_input_error([&] { open(good_images(), labels); }, "labels");
  }

  TemporaryFolder folder_;
};

void expect_good(const ImageDataset& dataset) {
  ASSERT_EQ(dataset.samples(), 3);
  EXPECT_EQ(dataset.shape(), (ImageShape{2, 2, 1}));
  EXPECT_EQ(dataset.classes(), 10);
  const std::int32_t labels[] = {9, 0, 5};
  for (std::int64_t index = 0; index < 3; ++index) {
    const ImageSample sample = dataset.sample(index);
    EXPECT_EQ(sample.label, labels[index]);
    ASSERT_EQ(sample.pixels.size(), 4u);
    for (std::size_t pixel = 0; pixel < 4; ++pixel) {
      EXPECT_EQ(sample.pixels[pixel], 1 + 4 * static_cast<std::size_t>(index) + pixel);
    }
  }
  EXPECT_THROW(dataset.sample(3), Error);
  EXPECT_THROW(dataset.sample(-1), Error);
}

TEST_F(IdxFilesTest, GiveExactValuesPlainAndCompressed) {
  expect_good(*open(good_images(), good_labels()));
  expect_good(*open(gzip(good_images()), good_labels()));
  expect_good(*open(gzip(good_images()), gzip(good_labels())));
}

TEST_F(IdxFilesTest, EveryTruncationIsAnError) {
  for (const bool compressed : {false, true}) {
    const Bytes images = compressed ? gzip(good_images()) : good_images();
    const Bytes labels = compressed ? gzip(good_labels()) : good_labels();
    for (std::size_t kept = 0; kept < images.size(); ++kept) expect_bad_images(testing::first(images, kept));
    for (std::size_t kept = 0; kept < labels.size(); ++kept) expect_bad_labels(testing::first(labels, kept));
  }
}

TEST_F(IdxFilesTest, TrailingBytesAreAnError) {
  expect_bad_images(good_images() + Bytes{0});
  expect_bad_labels(good_labels() + Bytes{0});
  expect_bad_images(gzip(good_images() + Bytes{0}));
  expect_bad_images(gzip(good_images()) + Bytes{0});
}

TEST_F(IdxFilesTest, EveryWrongHeaderByteIsAnError) {
  for (std::size_t at = 0; at < 16; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes images = good_images();
      images[at] ^= static_cast<std::uint8_t>(1 << bit);
      SCOPED_TRACE(::testing::Message() << "byte " << at << " bit " << bit);
      expect_bad_images(images);
    }
  }
}

TEST_F(IdxFilesTest, OtherTypesAndRanksAreErrors) {
  for (const std::uint8_t type : Bytes{0x09, 0x0b, 0x0c, 0x0d, 0x0e}) {
    expect_bad_images(header(type, {3, 2, 2}) + Bytes(12, 0));
  }
  expect_bad_images(header(8, {3, 4}) + Bytes(12, 0));
  expect_bad_images(header(8, {3, 2, 2, 1}) + Bytes(12, 0));
  expect_input_error([&] { open(good_labels(), good_images()); }, "images");  // exchanged
}

TEST_F(IdxFilesTest, ExtentsWhoseProductWouldOverflowAreErrors) {
  constexpr std::uint32_t kMost = 0xffffffffu;
  expect_bad_images(header(8, {kMost, kMost, kMost}) + Bytes(12, 0));
  expect_bad_images(header(8, {0x80000000u, 0x80000000u, 4}));  // 2^64: wraps to no bytes at all
  expect_bad_images(header(8, {kMost, 1, 1}) + Bytes(12, 0));
  expect_bad_images(gzip(header(8, {kMost, kMost, 1}) + Bytes(12, 0)));
  expect_bad_labels(header(8, {kMost}) + Bytes(3, 0));
}

TEST_F(IdxFilesTest, EmptyExtentsAreErrors) {
  expect_bad_images(header(8, {0, 2, 2}));
  expect_bad_images(header(8, {3, 0, 2}));
  expect_bad_images(header(8, {0, 0xffffffffu, 0xffffffffu}));
  expect_bad_labels(header(8, {0}));
}

TEST_F(IdxFilesTest, CountsMustBeEqualAndLabelsBelowTheClasses) {
  expect_bad_labels(header(8, {2}) + Bytes{1, 2});
  expect_bad_labels(header(8, {4}) + Bytes{1, 2, 3, 4});
  expect_bad_labels(header(8, {3}) + Bytes{1, 10, 2});
  const auto labels = folder_.write("labels", header(8, {3}) + Bytes{1, 10, 2});
  EXPECT_EQ(open_idx({folder_.write("images", good_images()), labels}, 11)->sample(1).label, 10);
}

class IdxDirectoryTest : public IdxFilesTest {
 protected:
  void write_all(const std::string& suffix, const std::function<Bytes(const Bytes&)>& pack) const {
    folder_.write("train-images-idx3-ubyte" + suffix, pack(good_images()));
    folder_.write("train-labels-idx1-ubyte" + suffix, pack(good_labels()));
    folder_.write("t10k-images-idx3-ubyte" + suffix, pack(header(8, {1, 2, 2}) + Bytes{1, 1, 1, 1}));
    folder_.write("t10k-labels-idx1-ubyte" + suffix, pack(header(8, {1}) + Bytes{4}));
  }
};

TEST_F(IdxDirectoryTest, FindsPlainAndCompressedFiles) {
  for (const bool compressed : {true, false}) {  // the second pass finds both and takes the plain ones
    write_all(compressed ? ".gz" : "", [=](const Bytes& bytes) { return compressed ? gzip(bytes) : bytes; });
    const auto split = open_idx_directory(folder_.path());
    expect_good(*split.train);
    ASSERT_EQ(split.held_out->samples(), 1);
    EXPECT_EQ(split.held_out->sample(0).label, 4);
  }
}

TEST_F(IdxDirectoryTest, EveryMissingFileIsNamed) {
  for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                           "t10k-labels-idx1-ubyte"}) {
    write_all("", [](const Bytes& bytes) { return bytes; });
    std::filesystem::remove(folder_.path() / name);
    try {
      open_idx_directory(folder_.path());
      ADD_FAILURE() << name << " was not missed";
    } catch (const InputError& error) {
      EXPECT_NE(error.problem().expected.find(name), std::string::npos) << error.what();
    }
  }
  expect_input_error([&] { open_idx_directory(folder_.path() / "nowhere"); }, "nowhere");
}

TEST_F(IdxDirectoryTest, TestImagesOfAnotherShapeAreAnError) {
  write_all("", [](const Bytes& bytes) { return bytes; });
  folder_.write("t10k-images-idx3-ubyte", header(8, {1, 4, 1}) + Bytes{1, 1, 1, 1});
  expect_input_error([&] { open_idx_directory(folder_.path()); }, folder_.path().string());
}

TEST(FashionMnist, IsReadWhole) {
  const std::filesystem::path directory = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::is_directory(directory))
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  const auto split = open_idx_directory(directory);
  EXPECT_EQ(split.train->samples(), 60000);
  EXPECT_EQ(split.held_out->samples(), 10000);
  EXPECT_EQ(split.train->shape(), (ImageShape{28, 28, 1}));
  std::vector<int> per_class(10);
  for (std::int64_t index = 0; index < 60000; ++index) {
    ++per_class[static_cast<std::size_t>(split.train->sample(index).label)];
  }
  EXPECT_EQ(per_class, std::vector<int>(10, 6000));  // the data set is balanced
}

}  // namespace
}  // namespace tandem

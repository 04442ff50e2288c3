#include "data/idx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "core/error.h"
#include "data/file_bytes.h"
#include "data/memory_images.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWordBytes = 4;
constexpr std::int64_t kUnsignedByte = 0x08;
constexpr std::int64_t kLargestContent = std::int64_t{2} << 30;  // above any IDX data set in use

std::int64_t big_endian_word(std::span<const std::uint8_t> bytes, std::size_t word) {
  const auto b = bytes.subspan(word * kWordBytes, kWordBytes);
  return std::int64_t{b[0]} << 24 | std::int64_t{b[1]} << 16 | std::int64_t{b[2]} << 8 | std::int64_t{b[3]};
}

[[noreturn]] void fail(const fs::path& path, std::string expected, std::string found) {
  throw InputError(
      {.what = "The IDX file is malformed.",
       .where = path.string(),
       .expected = std::move(expected),
       .found = std::move(found),
       .advice = "Fetch the file again, or check that image and label files are not exchanged."});
}

// The product of the extents, or -1 if it is more than `limit`: no product is formed that could overflow.
std::int64_t product_within(const std::vector<std::int64_t>& extents, std::int64_t limit) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) {
    if (extent > limit / product) return -1;
    product *= extent;
  }
  return product;
}

void require_labels_below(const IdxArray& labels, std::int64_t classes, const fs::path& path) {
  const auto payload = std::span(labels.bytes).subspan(labels.payload_offset);
  const auto bad =
      std::find_if(payload.begin(), payload.end(), [=](std::uint8_t label) { return label >= classes; });
  if (bad != payload.end()) {
    fail(path, fmt::format("labels in [0, {})", classes),
         fmt::format("label {} at sample {}", *bad, bad - payload.begin()));
  }
}

fs::path find_plain_or_gzip(const fs::path& directory, const std::string& name) {
  std::error_code ignored;  // an unreadable folder is reported as a missing file below
  for (const auto& candidate : {directory / name, directory / (name + ".gz")}) {
    if (fs::exists(candidate, ignored)) return candidate;
  }
  throw InputError({.what = "The IDX data set is incomplete.",
                    .where = directory.string(),
                    .expected = fmt::format("a file {0} or {0}.gz", name),
                    .found = fs::is_directory(directory, ignored) ? "a folder without it" : "no such folder",
                    .advice = "Name the folder that holds the four files of MNIST or Fashion-MNIST. "
                              "On Debian and Ubuntu: apt install dataset-fashion-mnist."});
}

std::unique_ptr<ImageDataset> open_part(const fs::path& directory, const std::string& part,
                                        std::int64_t classes) {
  return open_idx({.images = find_plain_or_gzip(directory, part + "-images-idx3-ubyte"),
                   .labels = find_plain_or_gzip(directory, part + "-labels-idx1-ubyte")},
                  classes);
}

}  // namespace

IdxArray parse_idx(std::vector<std::uint8_t> content, std::int64_t rank, const fs::path& path) {
  const auto words = static_cast<std::size_t>(rank) + 1;
  if (content.size() < words * kWordBytes) {
    fail(path, fmt::format("a header of {} bytes", words * kWordBytes),
         fmt::format("{} bytes in all", content.size()));
  }
  const std::int64_t magic = big_endian_word(content, 0);
  if (const std::int64_t wanted = kUnsignedByte << 8 | rank; magic != wanted) {
    fail(path, fmt::format("magic number 0x{:08x} (unsigned bytes, {} dimensions)", wanted, rank),
         fmt::format("0x{:08x}", magic));
  }
  IdxArray array;
  for (std::size_t word = 1; word < words; ++word) array.extents.push_back(big_endian_word(content, word));
  if (std::find(array.extents.begin(), array.extents.end(), 0) != array.extents.end()) {
    fail(path, "dimensions above zero", fmt::format("[{}]", fmt::join(array.extents, ", ")));
  }
  const auto payload = static_cast<std::int64_t>(content.size() - words * kWordBytes);
  if (product_within(array.extents, payload) != payload) {
    fail(path, fmt::format("[{}] bytes after the header, as it says", fmt::join(array.extents, " x ")),
         fmt::format("{} bytes", payload));
  }
  array.bytes = std::move(content);
  array.payload_offset = words * kWordBytes;
  return array;
}

std::unique_ptr<ImageDataset> open_idx(const IdxFiles& files, std::int64_t classes) {
  IdxArray images = parse_idx(read_plain_or_gzip(files.images, kLargestContent), 3, files.images);
  IdxArray labels = parse_idx(read_plain_or_gzip(files.labels, kLargestContent), 1, files.labels);
  if (images.extents[0] != labels.extents[0]) {
    fail(files.labels,
         fmt::format("{} labels, one per image of {}", images.extents[0], files.images.string()),
         fmt::format("{} labels", labels.extents[0]));
  }
  require_labels_below(labels, classes, files.labels);
  return std::make_unique<MemoryImages>(
      MemoryImages::Content{.pixels = std::move(images.bytes),
                            .pixel_offset = images.payload_offset,
                            .labels = std::move(labels.bytes),
                            .label_offset = labels.payload_offset,
                            .shape = {.height = images.extents[1], .width = images.extents[2], .channels = 1},
                            .classes = classes});
}

SplitDataset<ImageDataset> open_idx_directory(const fs::path& directory, std::int64_t classes) {
  SplitDataset<ImageDataset> split{open_part(directory, "train", classes),
                                   open_part(directory, "t10k", classes)};
  const auto train = split.train->shape();
  const auto test = split.held_out->shape();
  if (!(train == test)) {
    fail(directory,
         fmt::format("test images of {} x {}, like the training images", train.height, train.width),
         fmt::format("{} x {}", test.height, test.width));
  }
  return split;
}

}  // namespace tandem

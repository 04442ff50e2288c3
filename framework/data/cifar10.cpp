#include "data/cifar10.h"

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "data/file_bytes.h"
#include "data/memory_images.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kClasses = 10;
constexpr std::size_t kChannels = 3;
constexpr std::size_t kPlane = 32 * 32;
constexpr std::size_t kRecord = 1 + kChannels * kPlane;
constexpr std::size_t kRecordsPerFile = 10000;

[[noreturn]] void fail(const fs::path& path, std::string expected, std::string found) {
  throw InputError({.what = "The CIFAR-10 file is malformed.",
                    .where = path.string(),
                    .expected = std::move(expected),
                    .found = std::move(found),
                    .advice = "Fetch the binary version (cifar-10-binary.tar.gz) again and name its folder "
                              "cifar-10-batches-bin."});
}

void append_file(const fs::path& path, MemoryImages::Content& content) {
  const std::vector<std::uint8_t> file = read_bytes(path);
  if (file.size() != kRecordsPerFile * kRecord) {
    fail(path, fmt::format("{} bytes: {} records of {}", kRecordsPerFile * kRecord, kRecordsPerFile, kRecord),
         fmt::format("{} bytes", file.size()));
  }
  for (std::size_t record = 0; record < kRecordsPerFile; ++record) {
    const std::uint8_t* label = file.data() + record * kRecord;
    const std::uint8_t* planes = label + 1;
    if (*label >= kClasses) {
      fail(path, fmt::format("labels below {}", kClasses),
           fmt::format("label {} at record {}", *label, record));
    }
    content.labels.push_back(*label);
    for (std::size_t pixel = 0; pixel < kPlane; ++pixel) {
      for (std::size_t channel = 0; channel < kChannels; ++channel) {
        content.pixels.push_back(planes[channel * kPlane + pixel]);
      }
    }
  }
}

std::unique_ptr<ImageDataset> open_files(const fs::path& directory,
                                         std::initializer_list<const char*> names) {
  MemoryImages::Content content;
  content.shape = {.height = 32, .width = 32, .channels = kChannels};
  content.classes = kClasses;
  content.pixels.reserve(names.size() * kRecordsPerFile * kChannels * kPlane);
  content.labels.reserve(names.size() * kRecordsPerFile);
  for (const char* name : names) append_file(directory / name, content);
  return std::make_unique<MemoryImages>(std::move(content));
}

}  // namespace

SplitDataset<ImageDataset> open_cifar10_directory(const fs::path& directory) {
  return {open_files(directory, {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                 "data_batch_4.bin", "data_batch_5.bin"}),
          open_files(directory, {"test_batch.bin"})};
}

}  // namespace tandem

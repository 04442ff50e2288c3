// IDX files, the format of MNIST and Fashion-MNIST, plain or gzip.
//
// An IDX file is a header of big-endian 32-bit words followed by the values, last dimension fastest:
//   0x00000800 + rank (0x08 = unsigned byte), one word per dimension, then exactly the product of them in
//   bytes.
// Image files have rank 3 [N, H, W], label files rank 1 [N]. (Y. LeCun, C. Cortes, C. Burges: "The MNIST
// database".)
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "data/dataset.h"

namespace tandem {

struct IdxArray {
  std::vector<std::int64_t> extents;
  std::vector<std::uint8_t> bytes;  // the file's content, header included
  std::size_t payload_offset = 0;
};

// Takes the content of an IDX file of unsigned bytes with `rank` dimensions, none of them zero. Throws
// InputError, naming `path`, unless the header is as above and the payload is exactly as long as the header
// says.
IdxArray parse_idx(std::vector<std::uint8_t> content, std::int64_t rank, const std::filesystem::path& path);

struct IdxFiles {
  std::filesystem::path images;
  std::filesystem::path labels;
};

// Throws InputError if either file is malformed, if they hold different numbers of samples, or if a label is
// not below `classes`.
std::unique_ptr<ImageDataset> open_idx(const IdxFiles& files, std::int64_t classes = 10);

// Opens {train,t10k}-{images-idx3,labels-idx1}-ubyte in `directory`, each plain or with ".gz" (plain wins).
SplitDataset<ImageDataset> open_idx_directory(const std::filesystem::path& directory,
                                              std::int64_t classes = 10);

}  // namespace tandem

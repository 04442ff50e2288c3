// Text as a stream of bytes: every byte is a token, the vocabulary is 256.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "data/dataset.h"

namespace tandem {

struct ByteTextOptions {
  std::int64_t sequence_length = 0;  // T
  double validation_fraction = 0.0;  // in [0, 1); this share, from the end of the text, is held out
};

// The files that make up the text at `path`: the file itself, or every regular file below the folder. Links
// to files are resolved and each file is listed once; links to folders are not followed, so that a cycle
// cannot occur; names that start with a dot are left out. Sorted by resolved path, hence the same on all
// ranks. Throws InputError if there is no file, or a link leads nowhere.
std::vector<std::filesystem::path> list_text_files(const std::filesystem::path& path);

// Reads the files one after another. Throws InputError if a part is shorter than one sample of T+1 bytes.
// `held_out` is null if validation_fraction is 0.
SplitDataset<TokenDataset> open_byte_text(const std::filesystem::path& path, const ByteTextOptions& options);

}  // namespace tandem

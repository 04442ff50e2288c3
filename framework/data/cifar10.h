// CIFAR-10 in its binary version: the folder cifar-10-batches-bin.
//
// Five training files and one test file, each exactly 10,000 records of one label byte and 3,072 pixel bytes:
// 32 x 32 red, then green, then blue. (A. Krizhevsky, "Learning multiple layers of features from tiny
// images", 2009.) Images are turned to HWC when read.
#pragma once

#include <filesystem>

#include "data/dataset.h"

namespace tandem {

// Reads all six files: 50,000 and 10,000 samples. Throws InputError if one is missing, is not exactly as long
// as above, or holds a label above 9.
SplitDataset<ImageDataset> open_cifar10_directory(const std::filesystem::path& directory);

}  // namespace tandem

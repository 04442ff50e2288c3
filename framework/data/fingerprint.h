// A data set in one line of text, so that ranks can find out whether they have the same one.
#pragma once

#include <string>

#include "data/dataset.h"

namespace tandem {

// Ranks with different data would train on wrong shards, or make different numbers of steps and then hang in
// a collective. The text holds sizes and a hash of samples spread over the set, the first and the last among
// them: it costs milliseconds, and files of another data set, another version or another length differ. One
// changed sample in the midst of millions is not found.
std::string fingerprint(const ImageDataset& dataset);
std::string fingerprint(const TokenDataset& dataset);

}  // namespace tandem

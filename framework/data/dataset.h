// What a data set is to the rest of the program: samples that can be read in any order, from any thread.
//
// A data set is opened once, checks its files completely or says what is wrong (InputError), and is constant
// from then on: every method is const and may be called from several threads at once. It knows nothing of
// epochs, ranks or batches; those belong to Sampler and BatchSource.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/targets.h"

namespace tandem {

// Bytes are stored height, width, channel (HWC), one byte per value.
struct ImageShape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;

  std::int64_t bytes() const { return height * width * channels; }
  bool operator==(const ImageShape&) const = default;
};

struct ImageSample {
  std::span<const std::uint8_t> pixels;  // [H, W, C], owned by the data set and valid as long as it is
  std::int32_t label = 0;                // in [0, classes)
};

class ImageDataset {
 public:
  virtual ~ImageDataset() = default;
  virtual std::int64_t samples() const = 0;
  virtual ImageShape shape() const = 0;  // the same for all samples
  virtual std::int64_t classes() const = 0;
  virtual ImageSample sample(std::int64_t index) const = 0;  // REQUIRES 0 <= index < samples()
};

// Sample i is a window of T+1 consecutive tokens: inputs are the first T, targets the last T. Neighbouring
// windows share one token, so that every token but the very first is predicted exactly once per epoch.
class TokenDataset {
 public:
  virtual ~TokenDataset() = default;
  virtual std::int64_t samples() const = 0;
  virtual std::int64_t sequence_length() const = 0;  // T
  virtual std::int64_t vocabulary() const = 0;       // every token is in [0, vocabulary)

  // Writes one sample. REQUIRES 0 <= index < samples() and both spans [T]. Throws InputError if the stored
  // tokens are not in the vocabulary.
  virtual void read(std::int64_t index, std::span<std::int32_t> inputs,
                    std::span<std::int32_t> targets) const = 0;
};

// Two parts of one data set. `held_out` is the test or validation part; null where none was asked for.
template <class Dataset>
struct SplitDataset {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> held_out;
};

}  // namespace tandem

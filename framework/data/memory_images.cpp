#include "data/memory_images.h"

#include <utility>

#include "core/error.h"

namespace tandem {

MemoryImages::MemoryImages(Content content) : content_(std::move(content)) {
  samples_ = static_cast<std::int64_t>(content_.labels.size() - content_.label_offset);
  const auto pixel_bytes = static_cast<std::int64_t>(content_.pixels.size() - content_.pixel_offset);
  TANDEM_EXPECT(pixel_bytes == samples_ * content_.shape.bytes(),
                "{} labels and {} bytes of images of {} bytes", samples_, pixel_bytes,
                content_.shape.bytes());
}

ImageSample MemoryImages::sample(std::int64_t index) const {
  TANDEM_EXPECT(index >= 0 && index < samples_, "sample {} of a data set of {}", index, samples_);
  const auto bytes = static_cast<std::size_t>(content_.shape.bytes());
  const auto at = static_cast<std::size_t>(index);
  return {std::span(content_.pixels).subspan(content_.pixel_offset + at * bytes, bytes),
          content_.labels[content_.label_offset + at]};
}

}  // namespace tandem

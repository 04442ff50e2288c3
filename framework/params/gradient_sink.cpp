#include "params/gradient_sink.h"

#include <algorithm>
#include <utility>

namespace tandem {

GradientSink::GradientSink(const ParameterStore& store, std::vector<int> uses, CastGradient cast)
    : store_(store), uses_(std::move(uses)), cast_(std::move(cast)), done_(uses_.size(), 0) {}

void GradientSink::begin_micro_batch(int index, int count) {
  TANDEM_EXPECT(index >= 0 && index < count, "micro-batch {} of {}", index, count);
  micro_batch_ = index;
  micro_batches_ = count;
  std::ranges::fill(done_, 0);
}

GradTarget GradientSink::begin(ParamId id) {
  const auto use = static_cast<std::size_t>(id.index);
  TANDEM_EXPECT(done_[use] < uses_[use], "the gradient of {} is written more than the {} times planned",
                store_.layout().spec(id).name, uses_[use]);
  const bool first = micro_batch_ == 0 && done_[use] == 0;
  return {micro_batches_ > 1 ? store_.micro_sum(id) : store_.gradient(id),
          first ? GradMode::Overwrite : GradMode::Accumulate};
}

void GradientSink::end(ParamId id) {
  const auto use = static_cast<std::size_t>(id.index);
  ++done_[use];
  if (done_[use] < uses_[use] || micro_batch_ + 1 < micro_batches_) return;
  if (micro_batches_ > 1) {
    const auto sum = store_.micro_sum(id);
    const auto gradient = store_.gradient(id);
    if (sum.raw() != gradient.raw()) cast_(sum, gradient);
  }
  if (listener_ != nullptr) listener_->ready(id);
}

}  // namespace tandem

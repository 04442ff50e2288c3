#include "parallel/gradient_reducer.h"

#include "core/error.h"
#include "device/named_range.h"

namespace tandem {

GradientReducer::GradientReducer(Device& device, ParameterStore& store, Communicator& communicator,
                                 Streams streams, Schedule schedule)
    : store_(store),
      communicator_(communicator),
      streams_(streams),
      schedule_(schedule),
      is_ready_(store.layout().count(), false) {
  const auto& layout = store.layout();
  for (const auto& range : layout.buckets()) {
    buckets_.push_back({.range = range,
                        .label = fmt::format("bucket {}", buckets_.size()),
                        .complete = device.make_event(EventUse::Ordering),
                        .reduced = device.make_event(EventUse::Ordering)});
  }
  for (const auto id : layout.ready_order()) ++buckets_[layout.bucket_of(id)].parameters;
}

void GradientReducer::begin_step(BucketObserver* observer) {
  observer_ = observer;
  sent_ = 0;
  is_ready_.assign(is_ready_.size(), false);
  for (auto& bucket : buckets_) bucket.missing = bucket.parameters;
}

void GradientReducer::ready(ParamId parameter) {
  const auto index = static_cast<std::size_t>(parameter.index);
  TANDEM_EXPECT(!is_ready_[index],
                "the gradient of {} became ready twice in one step: a layer wrote it after it had said that "
                "it was done",
                store_.layout().spec(parameter).name);
  is_ready_[index] = true;
  const auto bucket = store_.layout().bucket_of(parameter);
  if (--buckets_[bucket].missing == 0 && observer_ != nullptr && communicates()) {
    observer_->bucket_ready(bucket, streams_.compute);
  }
  if (schedule_ == Schedule::Overlapped) send_complete_buckets();
}

void GradientReducer::send_complete_buckets() {
  while (sent_ < buckets_.size() && buckets_[sent_].missing == 0) send(sent_++);
}

void GradientReducer::send(std::size_t index) {
  if (!communicates()) return;
  auto& bucket = buckets_[index];
  streams_.compute.record(*bucket.complete);
  streams_.communication.wait(*bucket.complete);
  if (observer_ != nullptr) observer_->before_all_reduce(index, streams_.communication);
  const NamedRange range("all-reduce", static_cast<std::int64_t>(index));
  communicator_.label_next(bucket.label);
  communicator_.all_reduce_sum(store_.gradients(bucket.range), streams_.communication);
  if (observer_ != nullptr) observer_->after_all_reduce(index, streams_.communication);
  streams_.communication.record(*bucket.reduced);
}

void GradientReducer::end_backward() {
  send_complete_buckets();
  if (sent_ < buckets_.size()) fail_missing();
}

void GradientReducer::wait_for(std::size_t bucket) {
  if (communicates()) streams_.compute.wait(*buckets_[bucket].reduced);
}

void GradientReducer::fail_missing() const {
  std::string names;
  for (const auto id : store_.layout().ready_order()) {
    if (!is_ready_[static_cast<std::size_t>(id.index)]) names += "\n  " + store_.layout().spec(id).name;
  }
  fail_expectation("all gradients are ready",
                   "the backward pass ended without the gradients of these parameters:" + names,
                   std::source_location::current());
}

}  // namespace tandem

#include "params/parameter_layout.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "core/error.h"

namespace tandem {

ParameterLayout::ParameterLayout(std::vector<ParameterSpec> specs, std::vector<ParamId> ready_order,
                                 std::span<const std::size_t> bucket_starts)
    : specs_(std::move(specs)),
      ready_order_(std::move(ready_order)),
      ranges_(specs_.size()),
      bucket_of_(specs_.size(), specs_.size()) {
  TANDEM_EXPECT(ready_order_.size() == specs_.size(), "{} parameters were declared, {} have a gradient",
                specs_.size(), ready_order_.size());
  TANDEM_EXPECT(specs_.empty() || (!bucket_starts.empty() && bucket_starts.front() == 0),
                "the first bucket starts at the first parameter");
  TANDEM_EXPECT(std::ranges::is_sorted(bucket_starts, std::ranges::less_equal{}) || bucket_starts.size() < 2,
                "bucket starts ascend");
  std::set<std::string> names;
  std::size_t bucket = 0;
  ElementCount at;
  for (std::size_t position = 0; position < ready_order_.size(); ++position) {
    const auto id = index(ready_order_[position]);
    TANDEM_EXPECT(id < specs_.size() && bucket_of_[id] == specs_.size(),
                  "position {} of the ready order names no parameter, or one named before", position);
    TANDEM_EXPECT(names.insert(specs_[id].name).second, "two parameters are named {}", specs_[id].name);
    if (bucket < bucket_starts.size() && bucket_starts[bucket] == position) {
      at = at.rounded_up(kBucketAlignment);
      if (!buckets_.empty()) buckets_.back().end = at;
      buckets_.push_back({at, at});
      ++bucket;
    }
    at = at.rounded_up(kTensorAlignment);
    ranges_[id] = {at, at + specs_[id].stored.elements()};
    bucket_of_[id] = buckets_.size() - 1;
    at = ranges_[id].end;
    parameters_ += specs_[id].canonical.elements();
  }
  TANDEM_EXPECT(bucket == bucket_starts.size(), "a bucket starts past the last of {} parameters",
                specs_.size());
  total_ = at.rounded_up(kBucketAlignment);
  if (!buckets_.empty()) buckets_.back().end = total_;
}

}  // namespace tandem

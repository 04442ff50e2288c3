// Where every parameter lies in the flat arrays.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "params/parameter.h"

namespace tandem {

// A stretch of the flat arrays, in elements. The same in all of them: master, working copy, gradient, state.
struct FlatRange {
  ElementCount begin;
  ElementCount end;
  ElementCount elements() const { return end - begin; }
  bool operator==(const FlatRange&) const = default;
};

// Immutable once made. Parameters lie in the order in which their gradients become ready, so that a bucket of
// consecutive ones is one contiguous range. Starts are aligned in elements, such that even in a 16-bit array
// tensors start at 256-byte and buckets at 4,096-byte boundaries; what lies between is padding, always zero.
class ParameterLayout {
 public:
  static constexpr ElementCount kTensorAlignment{128};
  static constexpr ElementCount kBucketAlignment{2048};

  // `specs` in order of declaration; `ready_order` names each exactly once; `bucket_starts` are ascending
  // positions in ready_order, the first 0. Throws Error if these disagree, or if two parameters have one
  // name.
  ParameterLayout(std::vector<ParameterSpec> specs, std::vector<ParamId> ready_order,
                  std::span<const std::size_t> bucket_starts);

  std::size_t count() const { return specs_.size(); }
  const ParameterSpec& spec(ParamId id) const { return specs_[index(id)]; }
  FlatRange range(ParamId id) const { return ranges_[index(id)]; }  // stored elements, without padding behind
  const std::vector<ParamId>& ready_order() const { return ready_order_; }
  const std::vector<FlatRange>& buckets() const { return buckets_; }  // cover total() without gap
  std::size_t bucket_of(ParamId id) const { return bucket_of_[index(id)]; }

  ElementCount total() const { return total_; }            // with padding
  ElementCount parameters() const { return parameters_; }  // canonical elements: the published count

 private:
  static std::size_t index(ParamId id) { return static_cast<std::size_t>(id.index); }

  std::vector<ParameterSpec> specs_;
  std::vector<ParamId> ready_order_;
  std::vector<FlatRange> ranges_;
  std::vector<FlatRange> buckets_;
  std::vector<std::size_t> bucket_of_;
  ElementCount total_;
  ElementCount parameters_;
};

}  // namespace tandem

#include "train/startup_check.h"

#include <sstream>
#include <vector>

#include "core/error.h"

namespace tandem {
namespace {

std::string line_or_end(std::istringstream& text) {
  std::string line;
  return std::getline(text, line) ? line : "(nothing)";
}

// The first line in which two texts differ, from either.
std::pair<std::string, std::string> first_difference(const std::string& a, const std::string& b) {
  std::istringstream left(a);
  std::istringstream right(b);
  while (true) {
    const auto from_left = line_or_end(left);
    const auto from_right = line_or_end(right);
    if (from_left != from_right) return {from_left, from_right};
  }
}

}  // namespace

std::string describe_layout(const ParameterLayout& layout, DType gradient) {
  std::string text =
      fmt::format("parameters: {} in {} tensors\n", layout.parameters().value(), layout.count());
  for (const auto id : layout.ready_order()) {
    const auto& spec = layout.spec(id);
    text += fmt::format("parameter {}: {} at element {}, bucket {}\n", spec.name, spec.stored.to_string(),
                        layout.range(id).begin.value(), layout.bucket_of(id));
  }
  for (std::size_t bucket = 0; bucket < layout.buckets().size(); ++bucket) {
    text += fmt::format("bucket {}: {} elements of {}\n", bucket, layout.buckets()[bucket].elements().value(),
                        name_of(gradient));
  }
  return text;
}

void expect_agreement(const std::string& facts, RankGroup& group) {
  const auto all = group.all_gather(facts);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const auto [mine, theirs] = first_difference(all[0], all[rank]);
    throw Error(
        "tandem", "all ranks agree",
        fmt::format("rank 0 and rank {} do not run the same job; the first difference is\n  rank 0: {}\n  "
                    "rank {}: {}",
                    rank, mine, rank, theirs));
  }
}

}  // namespace tandem

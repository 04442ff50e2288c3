#include "ops/cpu/update_segments.h"

#include <algorithm>
#include <string>

#include "ops/check.h"

namespace tandem {

void expect_range(std::string_view op, const UpdateRange& range, int states, const StepPointers& pointers) {
  const auto name = [op](std::string_view argument) { return fmt::format("{} {}", op, argument); };
  const Shape shape{range.master.elements().value()};
  TANDEM_EXPECT(range.first >= 0, "{}: expected a range that begins at 0 or later, found {}", op,
                range.first);
  expect_tensor(name("master"), range.master, DType::F32, shape);
  expect_tensor(name("gradient"), range.gradient, DType::F32, shape);
  expect_no_tensor(name("working"), range.working);
  for (int which = 0; which < states; ++which) {
    expect_tensor(name(fmt::format("state[{}]", which)), range.state[which], DType::F32, shape);
  }
  TANDEM_EXPECT(pointers.inputs != nullptr && pointers.training != nullptr,
                "{}: an update reads inputs and training: one is null", op);
}

void for_each_piece(const std::vector<UpdateSegment>& segments, const UpdateRange& range,
                    const std::function<void(const UpdatePiece&)>& update) {
  const std::int64_t last = range.first + range.master.elements().value();
  auto segment = std::ranges::upper_bound(segments, range.first, {}, &UpdateSegment::end);
  for (; segment != segments.end() && segment->begin < last; ++segment) {
    const std::int64_t begin = std::max(segment->begin, range.first);
    const std::int64_t end = std::min(segment->end, last);
    if (begin < end) update({begin - range.first, end - range.first, segment->weight_decay});
  }
}

}  // namespace tandem

#include "params/initializer.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/rng.h"

namespace tandem {
namespace {

// Less work than this is done before another thread has started.
constexpr std::int64_t kLeastPerThread = 1 << 14;

float initial_value(const Initializer& initializer, PhiloxKey key, std::int64_t element) {
  if (initializer.kind == Initializer::Kind::Constant) return initializer.scale;
  const auto random = philox(key, static_cast<std::uint64_t>(element));
  if (initializer.kind == Initializer::Kind::Normal) {
    return initializer.scale * standard_normal(random.word[0], random.word[1]);
  }
  return initializer.scale * (2.0f * uniform01(random.word[0]) - 1.0f);
}

// Whether the canonical elements are the first stored ones, in their order: divisions for each element cost
// more than its value.
bool stored_in_canonical_order(const ParameterSpec& spec) {
  if (spec.packing != Packing::None) return false;
  for (int axis = 1; axis < spec.canonical.rank(); ++axis) {
    if (spec.canonical[axis] != spec.stored[axis]) return false;
  }
  return true;
}

// Calls work(begin, end) for stretches that cover [0, count), each on a thread.
template <class Work>
void share_among_threads(std::int64_t count, const Work& work) {
  const auto processors = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const auto threads = std::clamp<std::int64_t>(count / kLeastPerThread, 1, processors);
  std::vector<std::jthread> others;
  for (std::int64_t thread = 1; thread < threads; ++thread) {
    others.emplace_back([&work, begin = count * thread / threads, end = count * (thread + 1) / threads] {
      work(begin, end);
    });
  }
  work(std::int64_t{0}, count / threads);
}

}  // namespace

void write_initial_values(const ParameterSpec& spec, ParamId id, std::uint64_t seed,
                          std::span<float> values) {
  TANDEM_EXPECT(static_cast<std::int64_t>(values.size()) == spec.stored.elements().value(),
                "{}: expected room for {} values, found {}", spec.name, spec.stored.elements().value(),
                values.size());
  const auto key = philox_key(seed, RandomUse::Initialization, static_cast<std::uint32_t>(id.index));
  const bool in_order = stored_in_canonical_order(spec);
  std::ranges::fill(
      in_order ? values.subspan(static_cast<std::size_t>(spec.canonical.elements().value())) : values, 0.0f);
  share_among_threads(spec.canonical.elements().value(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = in_order ? i : stored_index(spec, i);
      values[static_cast<std::size_t>(at)] = initial_value(spec.initializer, key, i);
    }
  });
}

}  // namespace tandem

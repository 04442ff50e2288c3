// Dropout on the CPU: four elements share one block of random numbers.
#include <algorithm>
#include <memory>

#include "core/rng.h"
#include "device/cpu/cpu_stream.h"
#include "ops/check.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/spec_check.h"

namespace tandem {
namespace {

constexpr std::int64_t kWordsPerBlock = 4;  // random words of one Philox block

class CpuDropout final : public Dropout {
 public:
  explicit CpuDropout(const DropoutSpec& spec) : spec_(spec) {}

  void apply(Stream& stream, TensorView x, TensorView positions) override {
    expect_tensor("dropout x", x, DType::F32, {spec_.samples, spec_.elements_per_sample});
    expect_tensor("dropout positions", positions, DType::I64, {spec_.samples});
    if (spec_.probability == 0.0f) return;
    as_cpu(stream).enqueue([=, this] {
      for (std::int64_t sample = 0; sample < spec_.samples; ++sample) {
        apply_to_sample(x.data<float>() + sample * spec_.elements_per_sample,
                        static_cast<std::uint64_t>(positions.data<std::int64_t>()[sample]));
      }
    });
  }

 private:
  void apply_to_sample(float* elements, std::uint64_t position) const {
    const PhiloxKey key = philox_key(spec_.seed, RandomUse::Dropout, spec_.layer);
    const float kept_scale = 1.0f / (1.0f - spec_.probability);
    for (std::int64_t first = 0; first < spec_.elements_per_sample; first += kWordsPerBlock) {
      const Philox4 random = philox(key, position, static_cast<std::uint64_t>(first / kWordsPerBlock));
      const std::int64_t words = std::min(kWordsPerBlock, spec_.elements_per_sample - first);
      for (std::int64_t word = 0; word < words; ++word) {
        float& element = elements[first + word];
        element = uniform01(random.word[word]) < spec_.probability ? 0.0f : element * kept_scale;
      }
    }
  }

  DropoutSpec spec_;
};

}  // namespace

std::unique_ptr<Dropout> make_cpu_dropout(const DropoutSpec& spec) {
  expect_valid(spec);
  expect_cpu_dtype("dropout", spec.dtype);
  return std::make_unique<CpuDropout>(spec);
}

}  // namespace tandem

#include "train/replicas.h"

#include <gtest/gtest.h>

#include <random>

#include "core/hash.h"
#include "device/cpu/cpu_device.h"

namespace tandem {
namespace {

ParameterLayout one_parameter(std::int64_t elements) {
  return ParameterLayout({{.name = "weight", .canonical = {elements}, .stored = {elements}}}, {{0}},
                         std::vector<std::size_t>{0});
}

// Hashed piece by piece; sizes within one piece, at its end and beyond two.
TEST(ParameterHash, IsThatOfAllBitsInOrder) {
  constexpr std::int64_t kElementsOfAPiece = 4 << 20;
  CpuDevice device;
  const auto stream = device.make_stream(StreamRole::Compute);
  std::minstd_rand random(1);
  for (const auto elements : {std::int64_t{3}, kElementsOfAPiece, 2 * kElementsOfAPiece + 1001}) {
    const ParameterStore store(device, one_parameter(elements), {}, {});
    stream->synchronize();
    const auto all = store.masters(store.everything());
    for (float& value : std::span(all.data<float>(), static_cast<std::size_t>(all.elements().value())))
      value = static_cast<float>(random());
    const auto whole = [&] {
      return hash_bytes({static_cast<const char*>(all.raw()), static_cast<std::size_t>(all.bytes().value())});
    };
    EXPECT_EQ(parameter_hash(store, device, *stream), whole()) << elements;
    const auto before = whole();
    all.data<float>()[elements - 1] += 1e4f;
    EXPECT_NE(parameter_hash(store, device, *stream), before) << elements;
  }
}

}  // namespace
}  // namespace tandem

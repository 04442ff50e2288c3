#include "device/named_range.h"

#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <array>

namespace tandem {

NamedRange::NamedRange(const char* name) {
  nvtxRangePushA(name);
}

NamedRange::NamedRange(const char* name, std::int64_t number) {
  std::array<char, 64> text{};
  fmt::format_to_n(text.data(), text.size() - 1, "{} {}", name, number);
  nvtxRangePushA(text.data());
}

NamedRange::~NamedRange() {
  nvtxRangePop();
}

}  // namespace tandem

#include "device/named_range.h"

namespace tandem {

NamedRange::NamedRange(const char*) {}
NamedRange::NamedRange(const char*, std::int64_t) {}
NamedRange::~NamedRange() {}

}  // namespace tandem

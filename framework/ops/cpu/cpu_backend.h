// The ops of the CPU: Eigen, fp32, one thread per stream.
#pragma once

#include <memory>

#include "ops/backend.h"

namespace tandem {

std::unique_ptr<OpBackend> make_cpu_backend();

}  // namespace tandem

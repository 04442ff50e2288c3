// The program's log: spdlog, one line per event, each headed by time and "rank/world size".
#pragma once

#include <spdlog/logger.h>

#include <memory>

namespace tandem {

using Logger = spdlog::logger;

// A logger that writes to standard error. Ranks other than 0 print warnings and errors only.
std::shared_ptr<Logger> make_logger(int rank, int world_size);

}  // namespace tandem

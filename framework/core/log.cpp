#include "core/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>

namespace tandem {

std::shared_ptr<Logger> make_logger(int rank, int world_size) {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>("tandem", std::move(sink));
  logger->set_pattern(fmt::format("%H:%M:%S [{}/{}] %^%l%$ %v", rank, world_size));
  logger->set_level(rank == 0 ? spdlog::level::info : spdlog::level::warn);
  return logger;
}

}  // namespace tandem

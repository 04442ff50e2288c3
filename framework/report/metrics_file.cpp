#include "report/metrics_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "report/json_fields.h"

namespace tandem {
namespace {

constexpr std::chrono::milliseconds kInterval{200};

std::string reason(int error) {
  return std::generic_category().message(error);
}

}  // namespace

std::string metrics_line(const StepMetrics& metrics) {
  const auto& timing = metrics.timing;
  // To 0.1 us, as in the run record: no clock here resolves more. Adding 0.0 makes -0.0 a plain 0.
  const auto optional = [](std::optional<double> value) {
    return value ? write_number(std::round(*value * 1e4) / 1e4 + 0.0) : Json(nullptr);
  };
  Json line;
  line["step"] = metrics.step;
  line["epoch"] = metrics.epoch;
  line["time_s"] = write_number(metrics.time_s);
  line["loss"] = write_number(metrics.loss);
  line["learning_rate"] = write_number(metrics.learning_rate);
  std::optional<double> items_per_s;
  if (timing.step_ms && *timing.step_ms > 0.0)
    items_per_s = static_cast<double>(metrics.items) * 1e3 / *timing.step_ms;
  line["items_per_s"] = optional(items_per_s);
  line["step_ms"] = optional(timing.step_ms);
  line["data_wait_ms"] = optional(timing.data_wait_ms);
  line["forward_ms"] = optional(timing.forward_ms);
  line["backward_ms"] = optional(timing.backward_ms);
  line["recompute_ms"] = optional(timing.recompute_ms);
  line["exposed_ms"] = optional(timing.exposed_ms);
  line["optimizer_ms"] = optional(timing.optimizer_ms);
  line["other_ms"] = optional(timing.other_ms);
  line["comm_busy_ms"] = optional(timing.comm_busy_ms);
  return line.dump() + '\n';
}

MetricsFile::MetricsFile(const std::filesystem::path& path)
    : path_(path), descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0)
    throw InputError({.what = "the metrics of the run cannot be written",
                      .where = path.string(),
                      .expected = "a file that may be written to",
                      .found = reason(errno),
                      .advice = "choose another directory with --out, or set report.metrics=off"});
  writer_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

MetricsFile::~MetricsFile() {
  close();
}

// Wakes nobody: a call to the system would be most of what this costs.
void MetricsFile::add(StepMetrics metrics) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() < kMostWaiting)
    waiting_.push_back(std::move(metrics));
  else
    ++left_out_;
}

void MetricsFile::run(const std::stop_token& stop) {
  std::vector<StepMetrics> steps;
  bool last = false;
  while (!last) {
    {
      std::unique_lock lock(mutex_);
      never_.wait_for(lock, stop, kInterval, [] { return false; });
      last = stop.stop_requested();
      steps.swap(waiting_);
    }
    write(steps);
    steps.clear();
  }
}

void MetricsFile::write(const std::vector<StepMetrics>& steps) {
  if (!failure_.empty()) return;  // half a line may lie at the end: no more can follow
  std::string text;
  for (const auto& step : steps) text += metrics_line(step);
  for (std::string_view rest = text; !rest.empty();) {
    const auto written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      failure_ = fmt::format("{} ends early: {}", path_.string(), reason(errno));
      return;
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string MetricsFile::close() {
  if (descriptor_ < 0) return {};
  writer_.request_stop();
  writer_.join();
  const bool closed = ::close(std::exchange(descriptor_, -1)) == 0;
  if (!failure_.empty()) return failure_;
  if (!closed) return fmt::format("{} may end early: {}", path_.string(), reason(errno));
  if (left_out_ > 0) return fmt::format("{} leaves {} steps out: it was too slow", path_.string(), left_out_);
  return {};
}

}  // namespace tandem

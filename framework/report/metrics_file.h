// metrics.jsonl: a line per step, while the run goes on, for whoever wants to follow it.
//
// docs/run_record.md documents the keys. The file is for the eyes: it is not flushed to the disk, it holds
// rank 0's steps alone, and what is lost of it costs a run nothing.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "report/step_quantities.h"

namespace tandem {

struct StepMetrics {
  std::int64_t step = 0;   // from 0 over the whole run
  std::int64_t epoch = 0;  // from 0
  double time_s = 0.0;     // since 1970, when the step was reported
  double loss = 0.0;
  double learning_rate = 0.0;
  std::int64_t items = 0;  // images or tokens of the step, all ranks
  StepTiming timing;
};

// The line of a step, with its line feed.
std::string metrics_line(const StepMetrics& metrics);

// add() leaves a step in memory and returns; a thread of this object's own makes lines of them and writes
// them a few times a second. A disk that hangs therefore holds up nobody but that thread: steps beyond
// kMostWaiting are then left out of the file, and counted. One thread adds.
class MetricsFile {
 public:
  static constexpr std::size_t kMostWaiting = 100'000;

  // Empties the file or makes it. Throws InputError naming `path` and the system's reason.
  explicit MetricsFile(const std::filesystem::path& path);
  ~MetricsFile();  // as close()
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  void add(StepMetrics metrics);
  // Writes what is left. What went wrong since the file was opened, in words; empty: nothing.
  std::string close();

 private:
  void run(const std::stop_token& stop);
  void write(const std::vector<StepMetrics>& steps);

  const std::filesystem::path path_;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::condition_variable_any never_;  // only stopping ends the writer's sleep
  std::vector<StepMetrics> waiting_;   // under mutex_, as is:
  std::int64_t left_out_ = 0;
  std::string failure_;  // the writer's; read when it has ended
  std::jthread writer_;
};

}  // namespace tandem

#include "launcher/recorded_run.h"

#include <fmt/format.h>

#include <chrono>
#include <sstream>

#include "core/error.h"
#include "environment/error_report.h"
#include "environment/shell_quoting.h"
#include "launcher/clocks.h"
#include "report/atomic_file.h"
#include "report/run_record.h"

namespace tandem {
namespace {

constexpr int kSignalBase = 128;    // as shells say it
constexpr int kWaitedTooLong = 75;  // of comm's watchdog
// A rank that gives up says so with these words, of comm's watchdog. mpirun then has this long to end the
// others: a host that cannot be reached any more would keep it for ever.
constexpr const char* kLastWords = "tandem: rank ";
constexpr double kGrace_s = 10.0;

std::vector<std::string> last_lines(const std::filesystem::path& log) {
  constexpr std::size_t kLines = 40;
  std::vector<std::string> lines;
  std::istringstream text(read_file(log));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  if (lines.size() > kLines) lines.erase(lines.begin(), lines.end() - kLines);
  return lines;
}

std::string now() {
  return utc_timestamp(std::chrono::system_clock::now());
}

}  // namespace

RunOutcome run_recorded(const RecordedRun& run) {
  const auto file = run.folder / "launch.json";
  const auto log = run.folder / "log.txt";
  RunOutcome outcome{.launch = {.title = run.title,
                                .command = shell_quoted(run.command),
                                .identity = run.identity,
                                .started = now(),
                                .clocks_before = clocks_mhz()}};
  auto& launch = outcome.launch;
  write_launch_record(launch, file);
  const auto start = std::chrono::steady_clock::now();
  outcome.ended = run_child({.command = run.command,
                             .environment = terminal_environment(),
                             .log = log,
                             .show_output = run.show_output,
                             .grace_s = kGrace_s,
                             .last_words = kLastWords});
  launch.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  launch.clocks_after = clocks_mhz();
  launch.ended = now();
  launch.exit_status = outcome.ended.exit_status;
  launch.signal = outcome.ended.interrupted;
  if (outcome.ended.abandoned) launch.exit_status = kWaitedTooLong;
  const bool well = outcome.ended.exit_status == 0 && !outcome.ended.interrupted;
  launch.state = well ? LaunchRecord::kFinished : LaunchRecord::kFailed;
  if (!well) launch.last_words = last_lines(log);
  try {
    write_launch_record(launch, file);
  } catch (const InputError&) {
    if (well) throw;  // else the run has told its own trouble, of which this is a part: a disk that is full
  }
  return outcome;
}

int exit_status_for(const ChildResult& ended) {
  constexpr int kLastSignal = 64;
  if (ended.interrupted) return kSignalBase + *ended.interrupted;
  if (ended.abandoned) return kWaitedTooLong;
  const int status = ended.exit_status;
  const bool by_signal = status > kSignalBase && status <= kSignalBase + kLastSignal;
  if (status == 0 || status == kInputErrorStatus || status == kWaitedTooLong || by_signal) return status;
  return kFailureStatus;
}

std::string how_it_ended(const ChildResult& ended) {
  if (ended.interrupted) return fmt::format("was interrupted by signal {}", *ended.interrupted);
  if (ended.abandoned)
    return "ended on the hosts that can be reached; mpirun waited for another and was killed";
  return fmt::format("failed with exit status {}", ended.exit_status);
}

}  // namespace tandem

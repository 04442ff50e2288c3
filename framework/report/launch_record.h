// What the launcher leaves beside a run's record, before the run and again after it: launch.json. It is how
// an interrupted series of runs knows which ones are done, and what a run that was killed leaves behind.
//
// Plain values. Times in seconds; `started` and `ended` are UTC of the launcher's host, for reading only:
// durations come from its steady clock.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct LaunchRecord {
  static constexpr const char* kSchema = "tandem.launch/1";
  // In `state`. A launcher that was killed itself leaves kRunning.
  static constexpr const char* kRunning = "running";
  static constexpr const char* kFinished = "finished";
  static constexpr const char* kFailed = "failed";

  std::string title;                            // "tcp, repeat 2"
  std::string command;                          // as a shell takes it
  std::map<std::string, std::string> identity;  // everything that makes two runs the same, in words
  std::string started;
  std::string state = kRunning;
  std::string ended;  // empty while it runs, as the following have no value
  std::optional<double> seconds;
  std::optional<int> exit_status;
  std::optional<int> signal;            // passed on to the run
  std::vector<std::string> last_words;  // the end of the log of a run that failed
  // Clocks in MHz by device ("processor", "GPU 0"), where the system tells, just before and after the run.
  std::map<std::string, double> clocks_before;
  std::map<std::string, double> clocks_after;
  bool operator==(const LaunchRecord&) const = default;
};

// The first entry that differs, in words: "trainer: a1b2 there, c3d4 here". None if the two are the same.
std::optional<std::string> first_difference(const std::map<std::string, std::string>& there,
                                            const std::map<std::string, std::string>& here);

LaunchRecord read_launch_record(const std::filesystem::path& path);  // strict, as run records
LaunchRecord launch_record_from_json(std::string_view text, const std::string& file);
void write_launch_record(const LaunchRecord& record, const std::filesystem::path& path);  // atomically

// The page of a run that did not finish, or whose record is elsewhere.
std::string launch_markdown(const LaunchRecord& record);

}  // namespace tandem

#include "launcher/gathering.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <system_error>

#include "core/error.h"
#include "environment/shell_quoting.h"
#include "launcher/child_process.h"
#include "launcher/job_hosts.h"
#include "report/atomic_file.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& folder, const std::string& found) {
  throw InputError({.what = "The folder of the results cannot be used.",
                    .where = folder.string(),
                    .expected = "a folder that may be written to and that no other launcher uses",
                    .found = found,
                    .advice = "choose another folder with --out"});
}

}  // namespace

std::vector<std::string> agent_words(const std::string& agent) {
  if (agent.empty())
    return {"ssh", "-x", "-o", "BatchMode=yes", "-o", fmt::format("ConnectTimeout={}", kHostAnswer_s / 2)};
  std::istringstream stream(agent);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> agent_command(const std::string& agent, const std::string& host,
                                       const std::string& remote) {
  std::vector<std::string> command = {"timeout", "--kill-after=1", fmt::format("{}", kHostAnswer_s)};
  const auto words = agent_words(agent);
  command.insert(command.end(), words.begin(), words.end());
  command.push_back(host);
  command.push_back(remote);
  return command;
}

void gather_results(const Launch& launch, const fs::path& folder) {
  std::error_code ignored;  // what cannot be looked at is not there
  if (launch.one_host || fs::exists(folder / "record.json", ignored)) return;
  const auto& host = launch.hosts.front().name;
  for (const auto* name : {"config.yaml", "run.md", "record.json"}) {
    const auto there = fs::absolute(folder / name).string();
    const auto text =
        output_of(agent_command(launch.agent, host, shell_quoted(std::vector<std::string>{"cat", there})));
    if (text.empty()) throw Error("launcher", "gather", fmt::format("{} has no {}", host, there));
    write_file_atomically(folder / name, text);
  }
}

FolderLock::FolderLock(const fs::path& folder) {
  constexpr mode_t kEveryoneReads = 0644;
  const auto file = folder / ".launcher.lock";
  descriptor_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kEveryoneReads);
  if (descriptor_ < 0) refuse(folder, std::generic_category().message(errno));
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  const bool taken = errno == EWOULDBLOCK;
  const auto found = taken ? "another launcher is at work in it" : std::generic_category().message(errno);
  close(descriptor_);
  refuse(folder, found);
}

FolderLock::~FolderLock() {
  close(descriptor_);
}

}  // namespace tandem

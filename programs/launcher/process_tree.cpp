#include "launcher/process_tree.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The parent in "PID (NAME) STATE PARENT …"; the name may hold anything, blanks and ")" too. 0 if the process
// is gone, or a zombie, which only waits to be collected.
pid_t parent_of(const fs::path& folder) {
  const auto stat = text_of(folder / "stat");
  const auto end_of_name = stat.rfind(')');
  if (end_of_name == std::string::npos || end_of_name + 4 >= stat.size()) return 0;
  if (stat[end_of_name + 2] == 'Z') return 0;
  pid_t parent = 0;
  std::from_chars(stat.data() + end_of_name + 4, stat.data() + stat.size(), parent);
  return parent;
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  std::error_code ignored;  // processes that end meanwhile
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const auto name = entry.path().filename().string();
    pid_t process = 0;
    const auto [rest, failed] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (failed == std::errc() && *rest == '\0') children.emplace(parent_of(entry.path()), process);
  }
  std::vector<pid_t> found = {root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto child = begin; child != end; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

bool is_rank(pid_t process) {
  const auto environment = '\0' + text_of(fs::path("/proc") / std::to_string(process) / "environ");
  return environment.find(std::string("\0OMPI_COMM_WORLD_RANK=", 22)) != std::string::npos ||
         environment.find(std::string("\0SLURM_PROCID=", 14)) != std::string::npos;
}

void kill_tree(pid_t root) {
  constexpr int kTries = 10;  // a process may start others until it is gone
  for (int i = 0; i < kTries; ++i) {
    const auto below = descendants_of(root);
    kill(root, SIGKILL);
    if (below.empty()) return;
    for (const pid_t process : below) kill(process, SIGKILL);
  }
}

}  // namespace tandem

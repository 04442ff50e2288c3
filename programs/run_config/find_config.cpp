#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "run_config/run_config.h"
#include "run_config/suggestion.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;  // what cannot be looked at is not there
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

// The config files of a directory, sorted; none if it cannot be read.
std::vector<std::string> configs_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (entry->path().extension() == ".yaml" && is_file(entry->path()))
      names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

fs::path find_config(const std::string& name, std::span<const fs::path> directories) {
  const fs::path asked(name);
  const bool bare = !asked.has_parent_path();
  std::vector<fs::path> candidates;
  const auto add = [&](const fs::path& path) {
    candidates.push_back(path);
    if (bare && !asked.has_extension()) candidates.push_back(path.string() + ".yaml");
  };
  add(asked);
  if (asked.is_relative()) {
    for (const fs::path& directory : directories) add(directory / asked);
  }
  if (!name.empty()) {
    const auto found = std::find_if(candidates.begin(), candidates.end(), is_file);
    if (found != candidates.end()) return *found;
  }

  std::vector<std::string> looked_at;
  for (const fs::path& path : candidates) looked_at.push_back(path.string());
  std::vector<std::string> known = configs_in(".");
  for (const fs::path& directory : directories) {
    for (std::string& config : configs_in(directory)) known.push_back(std::move(config));
  }
  const auto near = nearest_name(asked.filename().string(), known);
  throw InputError({.what = fmt::format("there is no config \"{}\"", name),
                    .where = "--config",
                    .expected = fmt::format("a file at {}", join_with_or(looked_at)),
                    .found = known.empty() ? "no configs there" : fmt::format("{}", fmt::join(known, ", ")),
                    .advice = near ? fmt::format("did you mean {}?", *near) : ""});
}

}  // namespace tandem

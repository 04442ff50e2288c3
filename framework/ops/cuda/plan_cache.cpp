#include "ops/cuda/plan_cache.h"

#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"

namespace tandem {
namespace {

constexpr int kFormat = 1;

// The file's sections, or none where there is no file yet.
nlohmann::json read_sections(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return nlohmann::json::object();
  try {
    const auto document = nlohmann::json::parse(file);
    if (document.at("format").get<int>() == kFormat && document.at("sections").is_object()) {
      return document.at("sections");
    }
  } catch (const nlohmann::json::exception&) {
    // The complaint below says what was expected.
  }
  throw InputError({.what = "the plan cache cannot be read",
                    .where = path.string(),
                    .expected = fmt::format("a plan cache of format {}", kFormat),
                    .found = "something else",
                    .advice = "remove the file: plans are then searched again"});
}

}  // namespace

PlanCache::PlanCache(std::filesystem::path path, std::string section)
    : path_(std::move(path)), section_(std::move(section)) {
  if (path_.empty()) return;
  const auto sections = read_sections(path_);
  if (!sections.contains(section_)) return;
  for (const auto& [problem, choice] : sections.at(section_).items()) {
    if (choice.is_string()) choices_.emplace(problem, choice.get<std::string>());
  }
}

std::optional<std::string> PlanCache::find(const std::string& problem) const {
  const auto found = choices_.find(problem);
  if (found == choices_.end()) return std::nullopt;
  return found->second;
}

void PlanCache::store(const std::string& problem, const std::string& choice) {
  const auto [entry, added] = choices_.try_emplace(problem, choice);
  if (!added && entry->second == choice) return;
  entry->second = choice;
  if (!path_.empty()) save();
}

void PlanCache::save() const {
  auto sections = read_sections(path_);
  auto& section = sections[section_];
  for (const auto& [problem, choice] : choices_) section[problem] = choice;
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path());
  const auto written = path_.string() + fmt::format(".{}", ::getpid());
  std::ofstream file(written);
  file << nlohmann::json{{"format", kFormat}, {"sections", sections}}.dump(1) << '\n';
  file.close();
  TANDEM_EXPECT(file.good(), "the plan cache {} cannot be written", written);
  std::filesystem::rename(written, path_);
}

}  // namespace tandem

// What autotuning found, kept on disk: a text of a library's own for each problem.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace tandem {

// A JSON file of sections; a section holds what was found on one GPU with one set of library versions, since
// a choice means nothing elsewhere:
//   {"format": 1, "sections": {"NVIDIA H200, cuDNN 91900, cuBLASLt 130100": {"conv forward bf16 …": "…"}}}
// Other sections are kept as they are. Every store rewrites the file by write and rename, so that a reader
// always sees a whole one; of two processes that store at once, one's additions may be lost, which costs them
// a search. A file that cannot be read as such throws InputError. Not thread-safe.
class PlanCache {
 public:
  // An empty path keeps everything in memory.
  PlanCache(std::filesystem::path path, std::string section);

  std::optional<std::string> find(const std::string& problem) const;
  void store(const std::string& problem, const std::string& choice);

 private:
  void save() const;

  std::filesystem::path path_;
  std::string section_;
  std::map<std::string, std::string> choices_;
};

}  // namespace tandem

#include "train/gather_numbers.h"

#include <cstring>
#include <string>

namespace tandem {

// Ranks of a job are of one architecture, so the bytes travel as they are.
std::vector<std::vector<double>> gather_numbers(const std::vector<double>& mine, RankGroup& group) {
  std::string bytes(mine.size() * sizeof(double), '\0');
  std::memcpy(bytes.data(), mine.data(), bytes.size());
  std::vector<std::vector<double>> all;
  for (const auto& text : group.all_gather(bytes)) {
    all.emplace_back(text.size() / sizeof(double));
    std::memcpy(all.back().data(), text.data(), text.size());
  }
  return all;
}

}  // namespace tandem

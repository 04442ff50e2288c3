// The grid of a sweep: "comm.bucket_mb=1,4,8 comm.max_ctas=2,4" becomes six points. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct SweepAxis {
  std::string key;
  std::vector<std::string> values;  // as the config takes them; at least one, no two alike
  bool operator==(const SweepAxis&) const = default;
};

// "KEY=VALUE,VALUE,…". Commas within brackets, braces or quotes belong to a value:
// "optim.step_epochs=[1,2],[3]" has two. Throws InputError naming the text for anything else, and for the
// same value twice.
SweepAxis parse_axis(std::string_view text);

// One axis per text; throws also if there is none, a key stands twice, or the grid has more than 10,000
// points.
std::vector<SweepAxis> parse_axes(const std::vector<std::string>& texts);

// All combinations, the last axis fastest; each has one value per axis.
std::vector<std::vector<std::string>> grid_points(const std::vector<SweepAxis>& axes);

}  // namespace tandem

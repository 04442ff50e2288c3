#include "launcher/sweep_grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace tandem {
namespace {

constexpr std::size_t kMostPoints = 1'000;

[[noreturn]] void fail(std::string what, std::string_view text) {
  throw InputError({.what = std::move(what),
                    .where = "the keys to sweep over",
                    .expected = "KEY=VALUE,VALUE,… for each key, as in comm.bucket_mb=1,4,8",
                    .found = fmt::format("\"{}\"", text),
                    .advice = "launcher sweep --help has examples; ./trainer --help-config lists all keys"});
}

std::vector<std::string> split_values(std::string_view text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      values.emplace_back();
      continue;
    }
    values.back() += c;
  }
  return values;
}

}  // namespace

SweepAxis parse_axis(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) fail("A key has no values to sweep over.", text);
  SweepAxis axis{.key = std::string(text.substr(0, equals)), .values = split_values(text.substr(equals + 1))};
  for (const auto& value : axis.values) {
    if (value.empty()) fail("A value is empty.", text);
    if (std::ranges::count(axis.values, value) > 1) fail("A value stands twice.", text);
  }
  return axis;
}

std::vector<SweepAxis> parse_axes(const std::vector<std::string>& texts) {
  if (texts.empty()) fail("There is nothing to sweep over.", "");
  std::vector<SweepAxis> axes;
  std::size_t points = 1;
  for (const auto& text : texts) {
    axes.push_back(parse_axis(text));
    if (std::ranges::count(axes, axes.back().key, &SweepAxis::key) > 1) fail("A key stands twice.", text);
    points *= axes.back().values.size();
    if (points > kMostPoints) {
      const auto key = std::string_view(text).substr(0, text.find('='));
      fail(fmt::format("The grid has more than {} points.", kMostPoints),
           fmt::format("{} with {}", points, key));
    }
  }
  return axes;
}

std::vector<std::vector<std::string>> grid_points(const std::vector<SweepAxis>& axes) {
  std::vector<std::vector<std::string>> points(1);
  for (const auto& axis : axes) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& point : points) {
      for (const auto& value : axis.values) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

}  // namespace tandem

#include "page/machine_picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "page/svg.h"

namespace tandem {
namespace {

constexpr double kMargin = 14.0, kRank = 84.0, kRankHeight = 40.0, kGap = 14.0, kCore = 12.0, kHeader = 52.0;
constexpr int kMostCores = 128, kCoresPerRow = 32;  // more are counted, not drawn

int rows_of(int cores) {
  return (std::min(cores, kMostCores) + kCoresPerRow - 1) / kCoresPerRow;
}

double width_of(const HostRecord& host) {
  const double for_ranks = host.ranks * (kRank + kGap) - kGap;
  return 2.0 * kMargin + std::max({for_ranks, kCoresPerRow * (kCore + 3.0), 300.0});
}

double height_of(const HostRecord& host) {
  return kHeader + rows_of(host.cores) * (kCore + 3.0) + 16.0 + kRankHeight + 44.0;
}

void draw_cores(Svg& svg, const HostRecord& host, double x, double y) {
  for (int c = 0; c < std::min(host.cores, kMostCores); ++c) {
    const int row = c / kCoresPerRow;
    svg.box("core", {x + (c % kCoresPerRow) * (kCore + 3.0), y + row * (kCore + 3.0), kCore, kCore},
            fmt::format("core {}", c), 2.0);
  }
}

struct RankPlace {
  double x;
  double y;
};

void draw_host(Svg& svg, const HostRecord& host, double top, bool on_gpus, std::vector<RankPlace>& places) {
  svg.box("box", {0.5, top + 0.5, width_of(host) - 1.0, height_of(host) - 1.0}, {}, 8.0);
  svg.fitted_text("", {kMargin - 4.0, top + 8.0, width_of(host) - kMargin, 20.0}, host.name);
  svg.fitted_text("soft", {kMargin - 4.0, top + 26.0, width_of(host) - kMargin, 20.0},
                  fmt::format("{}, {} cores", host.processor, host.cores));
  draw_cores(svg, host, kMargin, top + kHeader);
  const double y = top + kHeader + rows_of(host.cores) * (kCore + 3.0) + 16.0;
  for (int r = 0; r < host.ranks; ++r) {
    const SvgBox box{kMargin + r * (kRank + kGap), y, kRank, kRankHeight};
    const auto name = fmt::format("{}rank {}", on_gpus ? "GPU, " : "", places.size());
    svg.box("used", box, name, 5.0);
    svg.fitted_text("on", box, name);
    places.push_back({box.x + box.width / 2.0, box.y + box.height});
  }
}

}  // namespace

std::string machine_picture(const std::vector<HostRecord>& hosts, const std::string& transport,
                            bool on_gpus) {
  double width = 0.0, height = 0.0;
  int ranks = 0;
  for (const auto& host : hosts) {
    width = std::max(width, width_of(host));
    height += height_of(host) + kGap;
    ranks += host.ranks;
  }
  Svg svg(width, height, fmt::format("{} hosts with {} ranks, joined by {}", hosts.size(), ranks, transport));
  std::vector<RankPlace> places;
  double top = 0.0;
  for (const auto& host : hosts) {
    draw_host(svg, host, top, on_gpus, places);
    top += height_of(host) + kGap;
  }
  // A ring through all ranks: neighbours, and the last with the first.
  for (std::size_t r = 0; r + 1 < places.size(); ++r)
    svg.curve("wire carried", places[r].x, places[r].y, places[r + 1].x, places[r + 1].y, 22.0,
              fmt::format("ranks {} and {}: {}", r, r + 1, transport));
  if (!places.empty() && ranks > 1)
    svg.text("soft", kMargin, places.back().y + 34.0, fmt::format("between ranks: {}", transport));
  return svg.text();
}

TextTable machine_table(const std::vector<HostRecord>& hosts) {
  TextTable table({{"host", Align::Left}, {"processor or GPU", Align::Left}, {"cores"}, {"ranks"}});
  for (const auto& host : hosts)
    table.add_row({host.name, host.processor, fmt::format("{}", host.cores), fmt::format("{}", host.ranks)});
  return table;
}

}  // namespace tandem

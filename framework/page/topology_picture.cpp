#include "page/topology_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "page/html_text.h"
#include "page/pcie_tree.h"
#include "page/svg.h"

namespace tandem {
namespace {

constexpr double kMargin = 14.0, kGap = 14.0, kCore = 12.0, kCoreStep = 15.0, kLine = 18.0;
constexpr double kChip = 104.0, kChipHeight = 40.0, kChipStep = kChip + 10.0, kSag = 26.0;
constexpr std::size_t kMostCores = 128, kCoresPerRow = 16;  // of a memory node; more are counted, not drawn
constexpr std::size_t kChipsPerRow = 4, kNodesPerRow = 2;
constexpr double kBridge = 20.0, kBridgeStep = kBridge + 18.0;
constexpr std::size_t kGpusPerRow = 16;  // the table has all

struct Chip {
  std::string style;
  std::string name;
  std::string note;
  std::optional<int> gpu;
  std::optional<int> rank;
};

// A memory node, or what belongs to none.
struct Area {
  std::string title;
  std::vector<CoreRecord> cores;
  std::vector<Chip> chips;

  std::size_t core_rows() const {
    return (std::min(cores.size(), kMostCores) + kCoresPerRow - 1) / kCoresPerRow;
  }
  std::size_t chip_rows() const { return (chips.size() + kChipsPerRow - 1) / kChipsPerRow; }
  double width() const {
    const auto columns = static_cast<double>(std::min(chips.size(), kChipsPerRow));
    return 2.0 * kMargin + std::max(columns * kChipStep, static_cast<double>(kCoresPerRow) * kCoreStep);
  }
  double height() const {
    return 2.0 * kLine + static_cast<double>(core_rows()) * kCoreStep + 8.0 +
           static_cast<double>(chip_rows()) * (kChipHeight + 10.0);
  }
};

bool may_run_everywhere(const RankPlaceRecord& rank, const HostTopologyRecord& host) {
  return rank.cores.empty() || rank.cores.size() == host.cores.size();
}

std::optional<int> rank_on_gpu(const HostTopologyRecord& host, int gpu) {
  for (const auto& rank : host.ranks)
    if (rank.gpu == gpu) return rank.rank;
  return std::nullopt;
}

// The one node that all of a bound rank's cores lie on.
std::optional<int> node_of(const RankPlaceRecord& rank, const HostTopologyRecord& host) {
  if (may_run_everywhere(rank, host)) return std::nullopt;
  std::optional<int> node;
  for (const auto& core : host.cores) {
    if (std::ranges::find(rank.cores, core.index) == rank.cores.end()) continue;
    if (node && *node != core.numa) return std::nullopt;
    node = core.numa;
  }
  return node;
}

Chip chip_of(const GpuRecord& gpu, const HostTopologyRecord& host) {
  const auto rank = rank_on_gpu(host, gpu.index);
  return {.style = rank ? "used" : "part",
          .name = rank ? fmt::format("GPU {}, rank {}", gpu.index, *rank) : fmt::format("GPU {}", gpu.index),
          .note = gpu.numa ? fmt::format("NUMA node {}", *gpu.numa) : gpu.pcie,
          .gpu = gpu.index,
          .rank = rank};
}

// "2 cores"
std::string cores_words(const RankPlaceRecord& rank, const HostTopologyRecord& host) {
  if (may_run_everywhere(rank, host)) return "any core";
  return fmt::format("{} core{}", rank.cores.size(), rank.cores.size() == 1 ? "" : "s");
}

// CPU ranks and network ports of a memory node, or of none.
std::vector<Chip> chips_of(const HostTopologyRecord& host, std::optional<int> node) {
  std::vector<Chip> chips;
  for (const auto& rank : host.ranks)
    if (!rank.gpu && node_of(rank, host) == node)
      chips.push_back({.style = "used",
                       .name = fmt::format("rank {}", rank.rank),
                       .note = cores_words(rank, host),
                       .gpu = {},
                       .rank = rank.rank});
  for (const auto& port : host.ports)
    if (port.numa == node)
      chips.push_back({.style = "part", .name = port.name, .note = port.kind, .gpu = {}, .rank = {}});
  return chips;
}

std::vector<Area> areas_of(const HostTopologyRecord& host) {
  std::vector<Area> areas;
  for (const auto& node : host.numa_nodes) {
    Area area{.title = fmt::format("socket {}, NUMA node {}, {:.0f} GB", node.package, node.index,
                                   static_cast<double>(node.memory_bytes) * 1e-9),
              .cores = {},
              .chips = chips_of(host, node.index)};
    for (const auto& core : host.cores)
      if (core.numa == node.index) area.cores.push_back(core);
    areas.push_back(std::move(area));
  }
  if (auto chips = chips_of(host, std::nullopt); !chips.empty())
    areas.push_back({.title = "at no one NUMA node, or not told", .cores = {}, .chips = std::move(chips)});
  return areas;
}

// What joins every two GPUs of a host, if that is the same NVLinks for all: through switches, as a rule.
std::string one_path(const HostTopologyRecord& host) {
  if (host.gpus.size() < 3 || host.gpu_paths.empty()) return {};
  const auto& path = host.gpu_paths.front().path;
  const bool same =
      std::ranges::all_of(host.gpu_paths, [&path](const GpuPathRecord& other) { return other.path == path; });
  return same && path.starts_with("NV") ? path : std::string();
}

struct Point {
  double x = 0.0;
  double y = 0.0;
};

class HostDrawing {
 public:
  HostDrawing(const HostTopologyRecord& host, double top)
      : host_(host), top_(top), areas_(areas_of(host)), tree_(pcie_tree(host)) {
    double x = kMargin, y = top + 2.0 * kLine + 6.0, tallest = 0.0;
    for (std::size_t a = 0; a < areas_.size(); ++a) {
      if (a > 0 && a % kNodesPerRow == 0) {
        x = kMargin;
        y += tallest + kSag;
        tallest = 0.0;
      }
      corners_.push_back({x, y});
      x += areas_[a].width() + kGap;
      tallest = std::max(tallest, areas_[a].height());
      width_ = std::max(width_, x);
    }
    bridges_y_ = y + tallest + kSag;
    gpus_y_ = bridges_y_ + static_cast<double>(tree_.levels) * kBridgeStep;
    height_ = gpus_y_ - top + (host.gpus.empty() ? kGap : kChipHeight + 2.0 * kSag + kGap);
    const auto gpu_columns = static_cast<double>(std::min(host.gpus.size(), kGpusPerRow));
    width_ = std::max(width_, 2.0 * kMargin + gpu_columns * kChipStep);
  }

  double width() const { return width_; }
  double height() const { return height_; }
  const std::map<int, Point>& rank_places() const { return ranks_; }

  void draw(Svg& svg) {
    svg.box("box", {0.5, top_ + 0.5, width_ - 1.0, height_ - 1.0}, {}, 8.0);
    svg.fitted_text("", {kMargin - 4.0, top_ + 6.0, width_ - kMargin, kLine}, host_.host);
    svg.fitted_text("soft", {kMargin - 4.0, top_ + 6.0 + kLine, width_ - kMargin, kLine},
                    fmt::format("{} cores, {} GPUs, {} ranks", host_.cores.size(), host_.gpus.size(),
                                host_.ranks.size()));
    for (std::size_t a = 0; a < areas_.size(); ++a) draw_area(svg, areas_[a], corners_[a]);
    for (std::size_t g = 0; g < std::min(tree_.gpus.size(), kGpusPerRow); ++g) {
      const auto& gpu = *std::ranges::find(host_.gpus, tree_.gpus[g], &GpuRecord::index);
      draw_chip(svg, chip_of(gpu, host_), {kMargin + static_cast<double>(g) * kChipStep, gpus_y_},
                fmt::format("GPU {}: {} {}", gpu.index, gpu.name, gpu.pcie));
    }
  }

  void draw_gpu_paths(Svg& svg, bool gpu_to_gpu) const {
    if (const auto path = one_path(host_); !path.empty()) return draw_switch(svg, path, gpu_to_gpu);
    for (const auto& path : host_.gpu_paths) {
      const auto from = gpus_.find(path.from), to = gpus_.find(path.to);
      if (from == gpus_.end() || to == gpus_.end()) continue;
      const bool carried = gpu_to_gpu && rank_on_gpu(host_, path.from) && rank_on_gpu(host_, path.to);
      const bool nvlink = path.path.starts_with("NV");
      if (!nvlink && (!carried || !tree_.nodes.empty())) continue;  // the way through PCIe is drawn as a tree
      const double span = std::abs(to->second.x - from->second.x) / kChipStep;
      svg.curve(fmt::format("{}{}", nvlink ? "nvlink" : "wire", carried ? " carried" : ""), from->second.x,
                from->second.y, to->second.x, to->second.y, kSag + 4.0 * span,
                fmt::format("GPU {} and GPU {}: {}", path.from, path.to, path.path));
    }
  }

  // Lines carried bytes if a rank's GPU is below them and the bytes went to the processor, or past it to a
  // GPU that is not below them; over NVLinks they did neither.
  void draw_pcie(Svg& svg, bool gpu_to_gpu) const {
    if (tree_.nodes.empty()) return;
    const bool nvlinks = gpu_to_gpu && joined_by_nvlinks();
    const auto carried = [&](std::size_t first, std::size_t last) {
      const auto below = ranks_between(first, last);
      return !nvlinks && below > 0 && (!gpu_to_gpu || below < ranks_between(0, tree_.gpus.size()));
    };
    const auto drawn = std::min(tree_.gpus.size(), kGpusPerRow);
    const auto wire = [&](double x, double y, std::size_t above, bool used, const std::string& words) {
      svg.line(used ? "wire carried" : "wire", x, bridge_y(above) + kBridge, x, y, words);
    };
    for (std::size_t g = 0; g < drawn; ++g)
      wire(gpu_x(g), gpus_y_, node_above(tree_, g), carried(g, g + 1),
           fmt::format("GPU {} below {}", tree_.gpus[g], tree_.nodes[node_above(tree_, g)].bridge));
    for (std::size_t n = 0; n < tree_.nodes.size(); ++n) {
      const auto& node = tree_.nodes[n];
      const auto last = std::min(node.last, drawn);
      if (node.first >= last) continue;
      const double left = gpu_x(node.first) - kChip / 2.0, right = gpu_x(last - 1) + kChip / 2.0;
      if (node.parent)
        wire((left + right) / 2.0, bridge_y(n), *node.parent, carried(node.first, node.last), node.bridge);
      const auto words = fmt::format("{} {}", node.level == 0 ? "host bridge" : "PCIe bridge", node.bridge);
      svg.box("part", {left, bridge_y(n), right - left, kBridge}, words, 4.0);
      svg.fitted_text("soft", {left, bridge_y(n), right - left, kBridge},
                      node.last - node.first > 1 ? words : node.bridge);
    }
  }

 private:
  double gpu_x(std::size_t place) const {  // its middle
    return kMargin + static_cast<double>(place) * kChipStep + kChip / 2.0;
  }
  double bridge_y(std::size_t node) const {
    return bridges_y_ + static_cast<double>(tree_.nodes[node].level) * kBridgeStep;
  }

  std::size_t ranks_between(std::size_t first, std::size_t last) const {
    std::size_t ranks = 0;
    for (std::size_t g = first; g < last; ++g) ranks += rank_on_gpu(host_, tree_.gpus[g]) ? 1 : 0;
    return ranks;
  }

  // Whether every two GPUs that work for ranks have NVLinks between them.
  bool joined_by_nvlinks() const {
    return std::ranges::all_of(host_.gpu_paths, [&](const GpuPathRecord& path) {
      return path.path.starts_with("NV") || !rank_on_gpu(host_, path.from) || !rank_on_gpu(host_, path.to);
    });
  }

  void draw_switch(Svg& svg, const std::string& path, bool gpu_to_gpu) const {
    const double y = gpus_y_ + kChipHeight + 16.0;
    const double width = gpus_.rbegin()->second.x - gpus_.begin()->second.x + kChip;
    for (const auto& [gpu, foot] : gpus_)
      svg.line(gpu_to_gpu && rank_on_gpu(host_, gpu) ? "nvlink carried" : "nvlink", foot.x, foot.y, foot.x, y,
               fmt::format("GPU {}: {}", gpu, path));
    svg.box("part", {kMargin, y, width, kLine + 4.0}, {}, 5.0);
    svg.fitted_text("", {kMargin, y, width, kLine + 4.0}, fmt::format("{} between every two GPUs", path));
  }

  std::string users_of(const CoreRecord& core) const {
    std::string users;
    for (const auto& rank : host_.ranks) {
      if (may_run_everywhere(rank, host_)) continue;
      if (std::ranges::find(rank.cores, core.index) != rank.cores.end())
        users += fmt::format(", rank {}", rank.rank);
    }
    return users;
  }

  void draw_area(Svg& svg, const Area& area, const Point& corner) {
    svg.box("part", {corner.x, corner.y, area.width(), area.height()}, {}, 6.0);
    svg.fitted_text("soft", {corner.x + kMargin - 4.0, corner.y + 6.0, area.width() - kMargin, kLine},
                    area.title);
    const double cores_y = corner.y + 2.0 * kLine - 6.0;
    for (std::size_t c = 0; c < std::min(area.cores.size(), kMostCores); ++c) {
      const auto users = users_of(area.cores[c]);
      const std::size_t row = c / kCoresPerRow;
      svg.box(
          users.empty() ? "core" : "used",
          {corner.x + kMargin + static_cast<double>(c % kCoresPerRow) * kCoreStep,
           cores_y + static_cast<double>(row) * kCoreStep, kCore, kCore},
          fmt::format("core {}, {} threads{}", area.cores[c].index, area.cores[c].hardware_threads, users),
          2.0);
    }
    const double chips_y = cores_y + static_cast<double>(area.core_rows()) * kCoreStep + 8.0;
    for (std::size_t c = 0; c < area.chips.size(); ++c) {
      const std::size_t row = c / kChipsPerRow;
      draw_chip(svg, area.chips[c],
                {corner.x + kMargin + static_cast<double>(c % kChipsPerRow) * kChipStep,
                 chips_y + static_cast<double>(row) * (kChipHeight + 10.0)},
                fmt::format("{}: {}", area.chips[c].name, area.chips[c].note));
    }
  }

  void draw_chip(Svg& svg, const Chip& chip, const Point& at, const std::string& words) {
    svg.box(chip.style, {at.x, at.y, kChip, kChipHeight}, words, 5.0);
    const bool used = chip.style == "used";
    svg.fitted_text(used ? "on" : "", {at.x, at.y + 3.0, kChip, kLine}, chip.name);
    svg.fitted_text(used ? "on" : "soft", {at.x, at.y + 3.0 + 16.0, kChip, kLine}, chip.note);
    const Point foot{at.x + kChip / 2.0, at.y + kChipHeight};
    if (chip.gpu) gpus_[*chip.gpu] = foot;
    if (chip.rank) ranks_[*chip.rank] = foot;
  }

  const HostTopologyRecord& host_;
  double top_;
  std::vector<Area> areas_;
  PcieTree tree_;
  std::vector<Point> corners_;
  std::map<int, Point> gpus_;
  std::map<int, Point> ranks_;
  double bridges_y_ = 0.0;
  double gpus_y_ = 0.0;
  double width_ = 0.0;
  double height_ = 0.0;
};

// "GPU 0, rank 0 (A100, PCIe 4 x16); eth0 (ethernet)"
std::string what_sits_at(const HostTopologyRecord& host, const Area& area, std::optional<int> node) {
  std::vector<std::string> things;
  for (const auto& gpu : host.gpus)
    if (gpu.numa == node)
      things.push_back(fmt::format("{} ({}{}{})", chip_of(gpu, host).name, gpu.name,
                                   gpu.pcie.empty() ? "" : ", ", gpu.pcie));
  for (const auto& chip : area.chips) things.push_back(fmt::format("{} ({})", chip.name, chip.note));
  return fmt::format("{}", fmt::join(things, "; "));
}

void draw_ring(Svg& svg, const std::map<int, Point>& ranks, const std::string& transport) {
  for (auto rank = ranks.begin(); rank != ranks.end(); ++rank) {
    const auto next = std::next(rank);
    if (next == ranks.end()) return;
    svg.curve("wire carried", rank->second.x, rank->second.y, next->second.x, next->second.y, kSag,
              fmt::format("ranks {} and {}: {}", rank->first, next->first, transport));
  }
}

}  // namespace

std::string topology_picture(const std::vector<HostTopologyRecord>& hosts, const std::string& transport) {
  std::vector<HostDrawing> drawings;
  double width = 0.0, height = 0.0;
  std::size_t ranks = 0;
  for (const auto& host : hosts) {
    drawings.emplace_back(host, height);
    width = std::max(width, drawings.back().width());
    height += drawings.back().height() + kGap;
    ranks += host.ranks.size();
  }
  Svg svg(width, height + kLine,
          fmt::format("{} hosts with {} ranks, joined by {}", hosts.size(), ranks, transport));
  const bool gpu_to_gpu = transport.find("P2P") != std::string::npos;
  std::map<int, Point> places;
  for (auto& drawing : drawings) {
    drawing.draw(svg);
    drawing.draw_pcie(svg, gpu_to_gpu);
    drawing.draw_gpu_paths(svg, gpu_to_gpu);
    places.insert(drawing.rank_places().begin(), drawing.rank_places().end());
  }
  if (!gpu_to_gpu) draw_ring(svg, places, transport);
  if (ranks > 1) svg.text("soft", kMargin, height + 4.0, fmt::format("between ranks: {}", transport));
  return svg.text();
}

std::string topology_tables(const std::vector<HostTopologyRecord>& hosts) {
  auto html = html_table(topology_table(hosts), "Memory nodes, and what sits at each");
  if (const auto paths = gpu_path_table(hosts); paths.rows() > 0)
    html += html_table(paths, "What joins the GPUs, in the words of nvidia-smi topo");
  return html;
}

TextTable topology_table(const std::vector<HostTopologyRecord>& hosts) {
  TextTable table({{"host", Align::Left},
                   {"socket"},
                   {"NUMA node"},
                   {"memory GB"},
                   {"cores"},
                   {"ranks, GPUs and network ports", Align::Left}});
  for (const auto& host : hosts) {
    auto areas = areas_of(host);
    const bool homeless = std::ranges::any_of(host.gpus, [](const GpuRecord& gpu) { return !gpu.numa; });
    if (homeless && areas.size() == host.numa_nodes.size()) areas.emplace_back();
    for (std::size_t a = 0; a < areas.size(); ++a) {
      const bool node = a < host.numa_nodes.size();
      const auto memory_gb = node ? static_cast<double>(host.numa_nodes[a].memory_bytes) * 1e-9 : 0.0;
      table.add_row(
          {host.host, node ? fmt::format("{}", host.numa_nodes[a].package) : "",
           node ? fmt::format("{}", host.numa_nodes[a].index) : "",
           node ? fmt::format("{:.1f}", memory_gb) : "", node ? fmt::format("{}", areas[a].cores.size()) : "",
           what_sits_at(host, areas[a], node ? std::optional(host.numa_nodes[a].index) : std::nullopt)});
    }
  }
  return table;
}

TextTable gpu_path_table(const std::vector<HostTopologyRecord>& hosts) {
  TextTable table({{"host", Align::Left}, {"GPU"}, {"GPU"}, {"joined by", Align::Left}});
  for (const auto& host : hosts)
    for (const auto& path : host.gpu_paths)
      table.add_row({host.host, fmt::format("{}", path.from), fmt::format("{}", path.to), path.path});
  return table;
}

}  // namespace tandem

#include "page/pcie_tree.h"

#include <algorithm>
#include <utility>

namespace tandem {
namespace {

class TreeBuilder {
 public:
  explicit TreeBuilder(const HostTopologyRecord& host) {
    for (const auto& gpu : host.gpus) gpus_.push_back(&gpu);
    const bool told =
        std::ranges::none_of(host.gpus, [](const GpuRecord& gpu) { return gpu.pcie_route.empty(); });
    if (!told) return;
    std::ranges::stable_sort(gpus_, {}, [](const GpuRecord* gpu) { return gpu->pcie_route; });
    split(0, gpus_.size(), 0, std::nullopt);
  }

  PcieTree tree() && {
    for (const auto* gpu : gpus_) tree_.gpus.push_back(gpu->index);
    return std::move(tree_);
  }

 private:
  // A node of its own for each bridge that comes next. The GPUs [first, last) have their first `depth`
  // bridges in common.
  void split(std::size_t first, std::size_t last, std::size_t depth, std::optional<std::size_t> parent) {
    while (first < last) {
      auto end = first + 1;
      while (end < last && bridge(end, depth) == bridge(first, depth)) ++end;
      if (!bridge(first, depth).empty()) add(first, end, depth, parent);
      first = end;
    }
  }

  void add(std::size_t first, std::size_t last, std::size_t depth, std::optional<std::size_t> parent) {
    if (depth == 0) parent = add_node(first, last, 0, parent);
    if (last - first < 2) return;  // nothing parts below
    const auto common = common_depth(first, last);
    if (common > 1) parent = add_node(first, last, common - 1, parent);
    split(first, last, common, parent);
  }

  std::size_t add_node(std::size_t first, std::size_t last, std::size_t at,
                       std::optional<std::size_t> parent) {
    const auto level = parent ? tree_.nodes[*parent].level + 1 : 0;
    tree_.nodes.push_back({.bridge = gpus_[first]->pcie_route[at],
                           .level = level,
                           .parent = parent,
                           .first = first,
                           .last = last});
    tree_.levels = std::max(tree_.levels, level + 1);
    return tree_.nodes.size() - 1;
  }

  // Of sorted routes, the outermost two have least in common.
  std::size_t common_depth(std::size_t first, std::size_t last) const {
    const auto &a = gpus_[first]->pcie_route, &b = gpus_[last - 1]->pcie_route;
    return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  }

  std::string bridge(std::size_t gpu, std::size_t depth) const {
    const auto& route = gpus_[gpu]->pcie_route;
    return depth < route.size() ? route[depth] : std::string();
  }

  std::vector<const GpuRecord*> gpus_;
  PcieTree tree_;
};

}  // namespace

PcieTree pcie_tree(const HostTopologyRecord& host) {
  return TreeBuilder(host).tree();
}

std::size_t node_above(const PcieTree& tree, std::size_t place) {
  std::size_t innermost = 0;
  for (std::size_t n = 0; n < tree.nodes.size(); ++n)
    if (tree.nodes[n].first <= place && place < tree.nodes[n].last) innermost = n;
  return innermost;
}

}  // namespace tandem

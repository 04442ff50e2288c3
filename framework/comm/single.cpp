#include "comm/single.h"

#include "comm/host_name.h"
#include "core/error.h"

namespace tandem {
namespace {

class SingleCommunicator final : public Communicator {
 public:
  Rank rank() const override { return {}; }
  int world_size() const override { return 1; }
  void all_reduce_sum(TensorView, Stream&) override {}
  void reduce_scatter_sum(TensorView, Stream&) override {}
  void all_gather(TensorView, Stream&) override {}
  void broadcast(TensorView, Rank root, Stream&) override {
    TANDEM_EXPECT(root == Rank{}, "rank {} does not exist in a job of one rank", root.value);
  }
  void throw_if_failed() override {}
  std::string description() const override { return "single"; }
};

class SingleRankGroup final : public RankGroup {
 public:
  Rank rank() const override { return {}; }
  int world_size() const override { return 1; }
  std::string host() const override { return host_name(); }
  void barrier() override {}
  std::vector<std::string> all_gather(const std::string& text) override { return {text}; }
  std::string broadcast(const std::string& text, Rank) override { return text; }
  std::vector<double> sum(std::span<const double> values) override { return {values.begin(), values.end()}; }
};

}  // namespace

std::unique_ptr<Communicator> make_single_communicator() {
  return std::make_unique<SingleCommunicator>();
}
std::unique_ptr<RankGroup> make_single_rank_group() {
  return std::make_unique<SingleRankGroup>();
}

}  // namespace tandem

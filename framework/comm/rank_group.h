// Small host-side exchanges between ranks, for start-up checks, evaluation and reports: never inside a step.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace tandem {

// Every call blocks the calling thread until all ranks have made it. Ranks call in the same order, and not
// while collectives of a Communicator that shares its transport are in flight. Throws Error when a rank is
// lost.
class RankGroup {
 public:
  virtual ~RankGroup() = default;

  virtual Rank rank() const = 0;
  virtual int world_size() const = 0;
  virtual std::string host() const = 0;  // of this rank

  virtual void barrier() = 0;
  // What every rank gave, by rank, on every rank. Texts may differ in length.
  virtual std::vector<std::string> all_gather(const std::string& text) = 0;
  virtual std::string broadcast(const std::string& text, Rank root) = 0;
  // Element-wise sums, in rank order: the same bits on every rank.
  virtual std::vector<double> sum(std::span<const double> values) = 0;

  bool is_root() const { return rank().value == 0; }
};

}  // namespace tandem

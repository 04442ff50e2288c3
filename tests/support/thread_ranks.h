// The ranks of a job as threads of one process.
#pragma once

#include <barrier>
#include <cstring>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/rank_group.h"

namespace tandem {

// Calls `body` once per rank, each on a thread of its own, and returns what each threw (null: nothing). A
// rank that leaves early leaves the group too, so that the others go on.
class ThreadRanks {
 public:
  explicit ThreadRanks(int ranks) : texts_(static_cast<std::size_t>(ranks)), barrier_(ranks) {}

  std::vector<std::exception_ptr> run(const std::function<void(RankGroup&)>& body) {
    std::vector<std::exception_ptr> thrown(texts_.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t rank = 0; rank < texts_.size(); ++rank) {
        threads.emplace_back([&, rank] {
          Group group(*this, static_cast<int>(rank));
          try {
            body(group);
          } catch (...) {
            thrown[rank] = std::current_exception();
          }
          barrier_.arrive_and_drop();
        });
      }
    }
    return thrown;
  }

 private:
  class Group final : public RankGroup {
   public:
    Group(ThreadRanks& ranks, int rank) : ranks_(ranks), rank_(rank) {}

    Rank rank() const override { return {rank_}; }
    int world_size() const override { return static_cast<int>(ranks_.texts_.size()); }
    std::string host() const override { return "this process"; }
    void barrier() override { ranks_.barrier_.arrive_and_wait(); }
    std::vector<std::string> all_gather(const std::string& text) override {
      ranks_.texts_[static_cast<std::size_t>(rank_)] = text;
      barrier();
      auto all = ranks_.texts_;
      barrier();  // nobody gives the next text before everyone has read these
      return all;
    }
    std::string broadcast(const std::string& text, Rank root) override {
      return all_gather(text)[static_cast<std::size_t>(root.value)];
    }
    std::vector<double> sum(std::span<const double> values) override {
      std::vector<double> total(values.size());
      const std::string mine(reinterpret_cast<const char*>(values.data()), values.size_bytes());
      for (const auto& text : all_gather(mine)) {
        for (std::size_t i = 0; i < total.size(); ++i) {
          double value = 0.0;
          std::memcpy(&value, text.data() + i * sizeof(double), sizeof(double));
          total[i] += value;
        }
      }
      return total;
    }

   private:
    ThreadRanks& ranks_;
    int rank_;
  };

  std::vector<std::string> texts_;
  std::barrier<> barrier_;
};

}  // namespace tandem

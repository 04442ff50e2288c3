// A communicator that hands everything on: what tests of communication change one thing in.
#pragma once

#include <string>

#include "comm/communicator.h"

namespace tandem {

// `inner` outlives it.
class ForwardingCommunicator : public Communicator {
 public:
  explicit ForwardingCommunicator(Communicator& inner) : inner_(inner) {}

  Rank rank() const override { return inner_.rank(); }
  int world_size() const override { return inner_.world_size(); }
  void all_reduce_sum(TensorView inout, Stream& stream) override { inner_.all_reduce_sum(inout, stream); }
  void reduce_scatter_sum(TensorView all, Stream& stream) override { inner_.reduce_scatter_sum(all, stream); }
  void all_gather(TensorView all, Stream& stream) override { inner_.all_gather(all, stream); }
  void broadcast(TensorView inout, Rank root, Stream& stream) override {
    inner_.broadcast(inout, root, stream);
  }
  void label_next(std::string_view label) override { inner_.label_next(label); }
  void throw_if_failed() override { inner_.throw_if_failed(); }
  std::string description() const override { return inner_.description(); }

 private:
  Communicator& inner_;
};

}  // namespace tandem

// Counts what is asked of a communicator.
#pragma once

#include "support/forwarding_communicator.h"

namespace tandem {

class CountingCommunicator final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  void all_reduce_sum(TensorView inout, Stream& stream) override {
    ++all_reduces;
    all_reduced += inout.bytes();
    ForwardingCommunicator::all_reduce_sum(inout, stream);
  }

  int all_reduces = 0;
  ByteCount all_reduced;
};

}  // namespace tandem

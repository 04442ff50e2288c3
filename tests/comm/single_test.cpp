#include <gtest/gtest.h>

#include <vector>

#include "comm/comm_setup.h"
#include "comm/transport_proof.h"
#include "device/cpu/cpu_stream.h"

namespace tandem {
namespace {

TEST(SingleComm, LeavesTensorsAsTheyAre) {
  const auto comm = make_single_comm({});
  CpuStream stream;
  std::vector<float> values{1.0f, 2.0f};
  const TensorView view(values.data(), DType::F32, Shape{2});
  comm->communicator().label_next("ignored");
  comm->communicator().all_reduce_sum(view, stream);
  comm->communicator().reduce_scatter_sum(view, stream);
  comm->communicator().all_gather(view, stream);
  comm->communicator().broadcast(view, Rank{0}, stream);
  stream.synchronize();
  EXPECT_EQ(values, (std::vector<float>{1.0f, 2.0f}));
  EXPECT_THROW(comm->communicator().broadcast(view, Rank{1}, stream), Error);
  EXPECT_EQ(comm->communicator().description(), "single");
  EXPECT_FALSE(comm->ranks().host().empty());
}

TEST(SingleComm, NeedsNoTransport) {
  const auto comm = make_single_comm({});
  EXPECT_EQ(prove_transport(comm->ranks(), {}).transport_found, "none");
}

}  // namespace
}  // namespace tandem

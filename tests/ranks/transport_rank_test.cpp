#include <gtest/gtest.h>

#include <vector>

#include "comm/transport_proof.h"
#include "device/cpu/cpu_stream.h"
#include "support/rank_test.h"

namespace tandem {
namespace {

class TransportTest : public ::testing::TestWithParam<CommBackend> {};

TEST_P(TransportTest, TheKernelsCountersShowTheLinkThatWasChosen) {
  const auto comm = make_mpi_comm(rank_test_session(), rank_test_options(GetParam()));
  TransportEvidence evidence{.before = snapshot_transport(), .after = {}};
  CpuStream stream;
  std::vector<float> values(1000000, 1.0f);
  for (int i = 0; i < 3; ++i) {
    comm->communicator().all_reduce_sum({values.data(), DType::F32, Shape{1000000}}, stream);
  }
  stream.synchronize();
  evidence.after = snapshot_transport();
  evidence.expected_wire_bytes = comm->recorder().expected_wire_bytes();
  const auto proof = prove_transport(comm->ranks(), evidence);
  EXPECT_EQ(proof.transport_found, rank_test_link() == LinkWish::Tcp ? "tcp" : "shm")
      << proof.tcp_bytes << " of " << proof.expected_wire_bytes << " bytes by TCP";
  EXPECT_EQ(proof.expected_wire_bytes, 3 * 2.0 * (comm->ranks().world_size() - 1) * 4e6);
}

INSTANTIATE_TEST_SUITE_P(Backends, TransportTest, ::testing::Values(CommBackend::Mpi, CommBackend::Ring),
                         [](const auto& instance) {
                           return instance.param == CommBackend::Mpi ? "Mpi" : "Ring";
                         });

}  // namespace
}  // namespace tandem

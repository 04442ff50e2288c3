// For tests that run on every rank of a job (tandem_rank_test in cmake/TandemRankTest.cmake).
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "comm/comm_setup.h"
#include "comm/link.h"

namespace tandem {

// What support/rank_test_main.cpp started; valid while tests run.
const MpiSession& rank_test_session();
LinkWish rank_test_link();

// Test programs end by the watchdog before ctest has to end them.
inline CommOptions rank_test_options(CommBackend backend = CommBackend::Mpi) {
  CommOptions options;
  options.backend = backend;
  options.watchdog.timeout = std::chrono::seconds(60);
  return options;
}

// Whether all ranks of the job have the same bits. All call together.
template <class T>
bool equal_on_all_ranks(const std::vector<T>& values) {
  const auto comm = make_mpi_comm(rank_test_session(), rank_test_options());
  const auto bytes = std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  const auto all = comm->ranks().all_gather(bytes);
  return std::ranges::all_of(all, [&](const auto& other) { return other == all.front(); });
}

}  // namespace tandem

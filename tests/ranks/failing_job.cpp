// A job in which rank 1 fails, in the way named by the argument, while rank 0 waits for it in "bucket 3".
#include <cstdio>
#include <string_view>
#include <vector>

#include "comm/termination_signal.h"
#include "device/cpu/cpu_stream.h"
#include "ranks/ways_to_fail.h"

namespace tandem {
namespace {

void train(const MpiSession& session, std::string_view way, const TerminationSignal& termination) {
  const auto comm = make_mpi_comm(session, failing_job_options(way, termination));
  CpuStream stream;
  std::vector<float> values(1000, 1.0f);
  for (int bucket = 0; bucket < 5; ++bucket) {
    if (bucket == 3 && session.identity().rank == Rank{1}) stream.enqueue([way] { fail_by(way); });
    comm->communicator().label_next("bucket " + std::to_string(bucket));
    comm->communicator().all_reduce_sum({values.data(), DType::F32, Shape{1000}}, stream);
  }
  stream.synchronize();
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  const tandem::TerminationSignal termination;
  const tandem::MpiSession session;
  try {
    tandem::train(session, argc > 1 ? argv[1] : "", termination);
  } catch (const tandem::Error& error) {
    const auto& self = session.identity();
    std::fprintf(stderr, "%s\n", error.describe(self.rank.value, self.host).c_str());
    session.abort(1);
  }
}

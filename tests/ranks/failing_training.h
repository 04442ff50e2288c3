// Training in which rank 1 fails, in the way named by the argument, when its sixth step has finished.
#pragma once

#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>

#include "comm/termination_signal.h"
#include "ranks/ways_to_fail.h"
#include "support/forwarding_communicator.h"
#include "support/training_run.h"

namespace tandem {

// Leaves one all-reduce out once it was told to.
class SkippingCommunicator final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  void skip_one() { skip_ = true; }
  void all_reduce_sum(TensorView inout, Stream& stream) override {
    if (!skip_) ForwardingCommunicator::all_reduce_sum(inout, stream);
    skip_ = false;
  }

 private:
  bool skip_ = false;
};

// Where the ranks train. `communicator` may be null: then that of the job.
struct FailingDevice {
  TrainingDevice on;
  std::unique_ptr<Communicator> communicator;
};
using MakeFailingDevice = std::function<FailingDevice(Comm&)>;

// As a wrong gradient would: the loss that follows is none.
inline void spoil_parameters(TrainingRun& run, Device& device) {
  const auto stream = device.make_stream(StreamRole::Copy);
  const float none = std::numeric_limits<float>::quiet_NaN();
  const Buffer staged(device.pinned_memory(), ByteCount(sizeof none));
  *static_cast<float*>(staged.data()) = none;
  stream->copy(run.store().master({0}).raw(), staged.data(), staged.bytes());
  stream->synchronize();
}

inline void train_until_failure(const MpiSession& session, std::string_view way,
                                const TerminationSignal& termination, const MakeFailingDevice& make) {
  const auto comm = make_mpi_comm(session, failing_job_options(way, termination));
  auto made = make(*comm);
  auto& device = *made.on.device;
  SkippingCommunicator communicator(made.communicator ? *made.communicator : comm->communicator());
  TrainingSetup setup{.model = tiny_gpt(), .train_samples = 12000, .job = small_job(1000, 0.01)};
  // Of different sizes: between equal ones a skipped bucket only shows in the sums.
  setup.job.buckets = {.first = ByteCount(8192), .each = ByteCount(32768), .last = ByteCount(8192)};
  TrainingRun run(setup, communicator, comm->ranks(), "", std::move(made.on));
  run.run([&](const JobProgress& now) {
    if (now.total_step != 6 || session.identity().rank != Rank{1}) return;
    if (way == "skips") {
      communicator.skip_one();
    } else if (way == "diverges") {
      spoil_parameters(run, device);
    } else {
      fail_by(way);
    }
  });
}

// The main function of such a program.
inline void failing_training_main(int argc, char** argv, const MakeFailingDevice& make) {
  const TerminationSignal termination;
  const MpiSession session;
  const auto& self = session.identity();
  try {
    train_until_failure(session, argc > 1 ? argv[1] : "", termination, make);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.describe(self.rank.value, self.host).c_str());
    session.abort(1);
  } catch (const InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    session.abort(1);
  }
}

}  // namespace tandem

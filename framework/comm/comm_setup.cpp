#include "comm/comm_setup.h"

#include <utility>

#include "comm/host_communicator.h"
#include "comm/host_name.h"
#include "comm/mpi_collectives.h"
#include "comm/mpi_rank_group.h"
#include "comm/mpi_worker.h"
#include "comm/paced_communicator.h"
#include "comm/ring_collectives.h"
#include "comm/single.h"

namespace tandem {
namespace {

std::unique_ptr<Communicator> make_communicator(MpiWorker& worker, const CommOptions& options) {
  auto communicator = make_host_communicator(worker, make_host_collectives(options.backend));
  if (options.pace) communicator = make_paced_communicator(std::move(communicator), *options.pace);
  return communicator;
}

class MpiComm final : public Comm {
 public:
  MpiComm(const MpiSession& session, const CommOptions& options)
      : recorder_(session.identity()),
        watchdog_(recorder_, options.watchdog),
        worker_(session.world(), recorder_),
        communicator_(make_communicator(worker_, options)),
        ranks_(make_mpi_rank_group(worker_)) {}

  Communicator& communicator() override { return *communicator_; }
  RankGroup& ranks() override { return *ranks_; }
  const FlightRecorder& recorder() const override { return recorder_; }
  Watchdog& watchdog() override { return watchdog_; }
  MpiWorker* worker() override { return &worker_; }

 private:
  FlightRecorder recorder_;
  Watchdog watchdog_;
  MpiWorker worker_;
  const std::unique_ptr<Communicator> communicator_;
  const std::unique_ptr<RankGroup> ranks_;
};

class SingleComm final : public Comm {
 public:
  explicit SingleComm(const WatchdogOptions& options)
      : recorder_({.rank = {}, .world_size = 1, .host = host_name()}),
        watchdog_(recorder_, options),
        communicator_(make_single_communicator()),
        ranks_(make_single_rank_group()) {}

  Communicator& communicator() override { return *communicator_; }
  RankGroup& ranks() override { return *ranks_; }
  const FlightRecorder& recorder() const override { return recorder_; }
  Watchdog& watchdog() override { return watchdog_; }
  MpiWorker* worker() override { return nullptr; }

 private:
  FlightRecorder recorder_;
  Watchdog watchdog_;  // for the termination signal: no collective is ever pending
  const std::unique_ptr<Communicator> communicator_;
  const std::unique_ptr<RankGroup> ranks_;
};

}  // namespace

std::unique_ptr<HostCollectives> make_host_collectives(CommBackend backend) {
  return backend == CommBackend::Ring ? make_ring_collectives() : make_mpi_collectives();
}

std::unique_ptr<Comm> make_mpi_comm(const MpiSession& session, const CommOptions& options) {
  if (session.identity().world_size == 1) return make_single_comm(options.watchdog);
  return std::make_unique<MpiComm>(session, options);
}

std::unique_ptr<Comm> make_single_comm(const WatchdogOptions& options) {
  return std::make_unique<SingleComm>(options);
}

}  // namespace tandem

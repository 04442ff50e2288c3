// Everything that joins the ranks of a CPU job, put together from options.
#pragma once

#include <memory>
#include <optional>

#include "comm/collective_cost.h"
#include "comm/communicator.h"
#include "comm/flight_recorder.h"
#include "comm/mpi_session.h"
#include "comm/rank_group.h"
#include "comm/watchdog.h"

namespace tandem {

class HostCollectives;  // host_collectives.h
class MpiWorker;        // mpi_worker.h

enum class CommBackend { Mpi, Ring };

struct CommOptions {
  CommBackend backend = CommBackend::Mpi;
  std::optional<LinkModel> pace;
  WatchdogOptions watchdog;
};

// Owns the parts and destroys them in the right order. Streams that still hold its work must be gone, or
// drained, before it is; a session outlives it.
class Comm {
 public:
  virtual ~Comm() = default;
  virtual Communicator& communicator() = 0;
  virtual RankGroup& ranks() = 0;
  virtual const FlightRecorder& recorder() const = 0;
  virtual Watchdog& watchdog() = 0;
  // The thread that calls MPI, for communicators that bring device memory to it; null in a job of one rank.
  virtual MpiWorker* worker() = 0;
};

std::unique_ptr<HostCollectives> make_host_collectives(CommBackend backend);

// Calls MPI on a thread of its own from now on: main makes no MPI call until the Comm is gone. A session of
// one rank gets what make_single_comm() gives.
std::unique_ptr<Comm> make_mpi_comm(const MpiSession& session, const CommOptions& options);

// A job of one rank, without MPI.
std::unique_ptr<Comm> make_single_comm(const WatchdogOptions& options);

}  // namespace tandem

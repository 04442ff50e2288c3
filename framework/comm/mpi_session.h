// Start and end of MPI in a process.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "comm/flight_recorder.h"

namespace tandem {

struct MpiWorld;  // mpi_world.h

// Owned by main, on the thread that made it; outlives everything that communicates. A job of one rank that
// was not started by mpirun needs none (see make_single_comm).
//
// Between construction and destruction MPI is called by one thread at a time, of which the MpiWorker is the
// only one, so MPI_THREAD_SERIALIZED is asked for; an MPI that gives less is an Error.
class MpiSession {
 public:
  // `timeout`: how long the other ranks may take to start (MPI_Init) and, in the end, to finish; see
  // deadline.h.
  explicit MpiSession(std::chrono::milliseconds timeout = std::chrono::minutes(5));
  // MPI_Finalize; when an exception is on its way out, what abort() does, since finalizing would wait for
  // peers that wait for this rank. Main therefore reports errors inside the session's scope.
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  const RankIdentity& identity() const { return identity_; }
  const MpiWorld& world() const { return *world_; }

  // Ends all ranks of the job. MPI_Abort itself may hang, so the process ends after a few seconds in any
  // case.
  [[noreturn]] void abort(int exit_code) const;

 private:
  const std::chrono::milliseconds timeout_;
  std::unique_ptr<MpiWorld> world_;
  RankIdentity identity_;
  int exceptions_at_start_ = 0;
};

std::string mpi_library_version();  // such as "Open MPI v4.1.4, …"; may be called before MPI starts
std::string mpi_header_version();   // "4.1.4", what was compiled against
std::string mpi_library_path();     // the file that the dynamic linker found

// The major version out of that text. Throws Error if the library is not Open MPI.
int open_mpi_major(const std::string& library_version);

}  // namespace tandem

// Algorithms for collectives on host memory, as jobs of the MPI worker.
#pragma once

#include <string>

#include "comm/mpi_worker.h"
#include "core/tensor_view.h"

namespace tandem {

// Members run on the worker's thread, on all ranks with equal arguments, and return when this rank's result
// is there. Their meaning is that of the Communicator's members; sums take f32 and i32. MPI failures are
// thrown as Error.
class HostCollectives {
 public:
  virtual ~HostCollectives() = default;
  virtual void all_reduce_sum(const MpiCalls& mpi, TensorView inout) const = 0;
  virtual void reduce_scatter_sum(const MpiCalls& mpi, TensorView all) const = 0;
  virtual void all_gather(const MpiCalls& mpi, TensorView all) const = 0;
  virtual void broadcast(const MpiCalls& mpi, TensorView inout, Rank root) const = 0;
  virtual std::string description() const = 0;
};

}  // namespace tandem

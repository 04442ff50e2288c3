// The Communicator of ranks that share a GPU: device memory by way of pinned host memory and MPI.
#pragma once

#include <memory>

#include "comm/comm_setup.h"
#include "device/cuda/cuda_device.h"

namespace tandem {

// For developing, testing and teaching on one GPU; NCCL wants a GPU for each rank. A collective is, on the
// given stream and in pieces of a few megabytes: a copy to pinned memory, a host function that hands a job to
// the MPI worker and returns when it is done, a copy back. The stream stands still meanwhile, as it would
// behind a collective's kernel, and so does the thread that runs host functions of this process; it calls no
// CUDA and waits for MPI only, hence for nothing of this process's GPU work.
//
// A CUDA graph cannot hold this: a capture is refused with an Error. Sums of 16-bit numbers are made in fp32
// and rounded once, so every rank gets the same bits. What fails in MPI is rethrown by throw_if_failed(); the
// memory then holds no result. `comm` is of several ranks and outlives the communicator; both outlive the
// enqueued work.
std::unique_ptr<Communicator> make_staged_communicator(CudaDevice& device, Comm& comm, CommBackend algorithm);

}  // namespace tandem

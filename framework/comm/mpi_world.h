#pragma once

#include "comm/mpi_check.h"

namespace tandem {

// A communicator of our own over all ranks, so that no message can be taken for one of another library's.
struct MpiWorld {
  MPI_Comm handle = MPI_COMM_NULL;
};

}  // namespace tandem

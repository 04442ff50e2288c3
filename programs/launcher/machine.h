// What the launcher must know of this machine before it can start ranks.
#pragma once

#include <string>

#include "machine/machine.h"

namespace tandem {

// Cores, memory nodes and GPUs of this host (machine/), at least one core.
Host this_host();

// The same count without the GPUs.
int physical_cores();

// Throws InputError if `ranks` ranks of one host are so many more than its cores that they would mostly wait.
void refuse_far_too_many_ranks(int ranks, int cores, const std::string& host);

// `launcher machine`: the same as JSON, which is how a launcher on another host asks for it.
std::string machine_as_json();

// The major version of the mpirun on the PATH. Throws InputError if there is none, or one that is not Open
// MPI 4 or newer.
int require_open_mpi();

// Throws InputError if there is no srun on the PATH.
void require_slurm();

}  // namespace tandem

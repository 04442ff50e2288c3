// What makes one run a repeat of another.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/launch.h"

namespace tandem {

// Every key of the resolved config ("comm.link" -> "tcp"), "ranks", "hosts", "arguments of mpirun", "trainer"
// (a hash of the program's bits) and the environment's variables that steer MPI, UCX, NCCL and CUDA. Throws
// InputError for a config that is not right.
std::map<std::string, std::string> run_identity(const Launch& launch,
                                                const std::vector<std::string>& overrides);

}  // namespace tandem

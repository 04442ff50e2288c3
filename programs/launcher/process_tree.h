// The processes below one, from /proc.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tandem {

// Children, their children and so on, as far as this user may see them; `root` is not among them.
std::vector<pid_t> descendants_of(pid_t root);

// Whether a process was started as a rank of a job: Open MPI and Slurm number them in their environment.
bool is_rank(pid_t process);

// SIGKILL to `root` and everything below it, until nothing new appears there.
void kill_tree(pid_t root);

}  // namespace tandem

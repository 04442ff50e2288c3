// The command that starts one trainer per rank, as a pure function: arguments of Open MPI's mpirun.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

enum class Binding {
  None,      // ranks run where the system likes
  Plain,     // each rank gets the next cores_per_rank cores
  Rankfile,  // as a file says
};

struct MpirunRequest {
  int ranks = 1;  // at least 1
  int open_mpi_major = 4;
  bool root = false;
  bool oversubscribe = false;  // more ranks than mpirun counts slots
  Binding binding = Binding::None;
  int cores_per_rank = 1;                // with Plain
  std::filesystem::path rankfile;        // with Rankfile
  std::filesystem::path hostfile;        // empty: this host
  std::string agent;                     // starts a command on another host; empty: Open MPI's choice, ssh
  std::vector<std::string> environment;  // "NAME=value", of every rank
  std::vector<std::string> extra;        // the user's own arguments for mpirun; they come last, so they win
  std::vector<std::string> program;      // the program of each rank and its arguments
};

// The request for ranks on this host's cores: an equal share of them each, or unbound where that cannot be.
MpirunRequest on_cores(int ranks, int cores);

// What differs between Open MPI 4 and 5: how a rankfile and an agent are named.
std::vector<std::string> mpirun_line(const MpirunRequest& request);

// 4 for "mpirun (Open MPI) 4.1.4 …"; 0 if this is not Open MPI's mpirun.
int open_mpi_major_version(std::string_view version_text);

}  // namespace tandem

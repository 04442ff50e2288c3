// What `run`, `compare` and `sweep` share: from what the user asked for to the command that starts the ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "launcher/host_list.h"
#include "launcher/placement.h"
#include "launcher/slurm.h"
#include "machine/machine.h"
#include "run_config/run_config.h"

namespace tandem {

enum class Starter { Mpirun, Srun };

struct LaunchOptions {
  std::string config;                     // a file or a name, see find_config()
  int ranks = 0;                          // 0: one per GPU or physical core, or all slots of the hosts
  std::vector<std::string> mpirun_extra;  // passed to mpirun (or srun) as they are
  std::filesystem::path hostfile;         // of Open MPI; empty: this host, or `hosts`
  std::string hosts;                      // "node1:2,node2:2"
  std::string agent;                      // starts a command on another host; empty: ssh
  Starter starter = Starter::Mpirun;
  bool bind = true;
  bool check_gpus = true;         // before a run on GPUs; see require_healthy_gpus()
  std::filesystem::path machine;  // a machine in JSON to plan for; empty: the one that is here
  std::filesystem::path trainer;  // the program of each rank
  std::filesystem::path probe;    // the program of the short doctor
  std::vector<std::filesystem::path> config_directories;
};

// A host with its ranks, which are consecutive in the job.
struct JobHost {
  std::string name;  // as mpirun knows it
  Host machine;
  std::vector<RankPlace> places;  // one per rank
};

// A launch that can begin: everything has been looked up.
struct Launch {
  std::filesystem::path config;
  int ranks = 1;
  std::vector<JobHost> hosts;  // in the order of their ranks
  bool one_host = true;        // and it is this one: no agent, no hostfile
  bool root = false;
  Starter starter = Starter::Mpirun;
  int open_mpi_major = 4;
  std::string agent;                     // empty: Open MPI's own choice
  std::vector<std::string> environment;  // of every rank: "CUDA_VISIBLE_DEVICES=0,2,1,3"
  std::vector<std::string> mpirun_extra;
  std::filesystem::path trainer;
  std::uint64_t trainer_hash = 0;  // of the program's bytes
};

// Looks the config, the trainer, mpirun and the hosts up, and places the ranks. Other hosts are asked through
// the agent, all at once, for kHostAnswer_s at most. Throws InputError naming what is not there or not
// enough.
Launch prepare_launch(const LaunchOptions& options, std::span<const std::string> overrides);

// The command that trains with `overrides` ("optim.lr=0.4") into `folder`, where write_launch_files() has put
// what it reads.
std::vector<std::string> launch_command(const Launch& launch, std::span<const std::string> overrides,
                                        const std::filesystem::path& folder);

// The same as a request to Slurm.
SlurmRequest slurm_job(const Launch& launch, std::span<const std::string> overrides,
                       const std::filesystem::path& folder);

// The files that the command reads, by name, with their text: hosts.txt and rankfile.txt, where it needs
// them.
std::vector<std::pair<std::string, std::string>> launch_files(const Launch& launch);
void write_launch_files(const Launch& launch, const std::filesystem::path& folder);

// Where each rank will be, one line per rank; empty where that is left to the system.
std::vector<std::string> describe_placement(const Launch& launch);

// Looks at the GPUs of this host that a run of `config` would use, unless that was declined or it runs on CPU
// ranks. Throws InputError if the machine is not fit for it.
void check_gpus(const LaunchOptions& options, const Launch& launch, const RunConfig& config);

// What ranks must know of the terminal that their output ends on, as environment variables.
std::vector<std::string> terminal_environment();

// A run that was started did not succeed. The message says which and where to look.
class RunFailed : public std::runtime_error {
 public:
  RunFailed(const std::string& message, int exit_status)
      : std::runtime_error(message), exit_status_(exit_status) {}
  int exit_status() const { return exit_status_; }  // for the launcher to end with

 private:
  int exit_status_;
};

}  // namespace tandem

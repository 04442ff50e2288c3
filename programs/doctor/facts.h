// What the doctor looks at beside the machine: the surroundings of a job, and what was measured.
//
// Plain values that travel as JSON, so that the rules (rules.h) are pure functions and every ailment can be
// tested without having it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

// One library that the programs use: what they were compiled against, and what the dynamic linker found.
struct LibraryVersion {
  std::string name;    // "MPI", "NCCL", "cuDNN", "CUDA runtime"
  std::string header;  // "" where the library does not tell
  std::string loaded;
  std::string path;                 // "" if it is linked statically
  std::vector<std::string> copies;  // every file of that name that is mapped; more than one is a fault
  bool operator==(const LibraryVersion&) const = default;
};

struct NcclFile {
  std::string path;
  std::vector<std::string> settings;  // "NCCL_P2P_DISABLE=1"
  bool operator==(const NcclFile&) const = default;
};

// What one rank of a job started by mpirun found.
struct RankView {
  int rank = 0;
  int world_size = 1;  // by MPI; 1 on every rank means that mpirun is another MPI's
  std::string host;
  std::vector<int> hardware_threads;   // that it may run on
  std::optional<std::string> devices;  // CUDA_VISIBLE_DEVICES
  bool operator==(const RankView&) const = default;
};

struct Surroundings {
  std::map<std::string, std::string> variables;  // CUDA_*, NCCL_*, OMPI_MCA_* and the like
  std::vector<NcclFile> nccl_files;              // that NCCL reads, in its order
  std::optional<std::int64_t> shm_bytes;         // of /dev/shm; none: there is none
  std::optional<std::int64_t> shm_free_bytes;
  std::optional<std::int64_t> locked_memory_bytes;  // soft limits; none: unlimited
  std::optional<std::int64_t> open_files;
  std::optional<double> load;        // threads that want to run, mean of the last minute
  bool cross_memory_attach = true;   // the kernel lets ranks read one another's memory
  bool iommu = false;                // an IOMMU translates the addresses of devices
  std::string temp_folder = "/tmp";  // in which mpirun keeps its job's files
  std::string temp_folder_fault;     // why nothing can be written there; "" if it can
  std::vector<std::string> bridges;  // network interfaces that join this host's containers and machines
  std::string srun_mpi;              // what `srun --mpi=list` prints where it answers, else ""
  // GPUs whose plans the cache of the working directory holds; none: it was not looked at
  std::optional<std::vector<std::string>> planned_gpus;
  std::string mpirun;  // first line of its --version; "" if there is none
  std::string mpirun_path;
  bool cuda_built = false;                // the programs have the CUDA backend
  std::string probe_failure;              // why the program probe told nothing; "" if it did
  std::vector<LibraryVersion> libraries;  // by the probe
  int ranks = 1;                          // of the job that is asked about
  bool operator==(const Surroundings&) const = default;
};

// One direction of one pair of GPUs.
struct PeerTest {
  int from = 0;  // indices of Gpu
  int to = 0;
  bool access = false;                  // the driver offers it
  std::string wrong;                    // "" if what was written was read back; else what was found
  std::optional<double> gb_per_s;       // copy engine, one direction
  std::optional<double> both_gb_per_s;  // copy engine, both directions at once, summed
  std::optional<double> sm_gb_per_s;    // copied by a kernel
  bool operator==(const PeerTest&) const = default;
};

// What a GPU's PCIe link does while bytes move.
struct PcieUnderLoad {
  int gpu = 0;
  std::optional<int> generation;
  std::optional<int> width;
  double to_device_gb_per_s = 0.0;  // from pinned memory
  double to_host_gb_per_s = 0.0;
  bool operator==(const PcieUnderLoad&) const = default;
};

struct Measurements {
  bool peers_tested = false;
  std::vector<PeerTest> peers;
  std::vector<PcieUnderLoad> pcie;
  std::string unfinished;       // what was running when a test ended or ran out of time, "" if all finished
  bool ranks_started = false;   // starting ranks was tried
  std::vector<RankView> ranks;  // empty with ranks_started: they did not come up
  std::string ranks_failure;    // why, in the ranks' own words
  bool operator==(const Measurements&) const = default;
};

// What the program probe tells of itself: `probe facts`.
struct ProbeFacts {
  bool cuda_built = false;
  bool cross_memory_attach = true;
  std::vector<LibraryVersion> libraries;
  bool operator==(const ProbeFacts&) const = default;
};

// How the probe's answers travel: one line of JSON each, behind a word that says what it is. Readers skip
// lines that begin otherwise, since mpirun and libraries print between them, and throw InputError for a line
// that begins right and goes on wrong.
std::string line_of(const ProbeFacts& facts);
std::string line_of(const RankView& view);
std::string line_of(const PeerTest& test);
std::string line_of(const PcieUnderLoad& link);
std::string begin_line(std::string_view test);  // "GPU 0 to GPU 1", before a test that may hang
std::string end_line();                         // after the last

std::optional<ProbeFacts> read_probe_facts(std::string_view text);
std::vector<RankView> read_rank_views(std::string_view text);
// `unfinished` is the test that had begun when the text ended without an end line.
Measurements read_peer_tests(std::string_view text);

}  // namespace tandem

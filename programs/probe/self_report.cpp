#include "probe/self_report.h"

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "comm/comm_setup.h"
#include "comm/host_name.h"
#include "comm/link.h"
#include "comm/mpi_session.h"
#include "doctor/facts.h"
#include "environment/environment.h"
#include "machine/gpu_probe.h"
#include "machine/host_probe.h"
#include "machine/machine_json.h"
#include "probe/cuda_probe.h"
#include "trainer/failure_report.h"
#include "trainer/rank_environment.h"

namespace tandem {
namespace {

constexpr std::chrono::seconds kStartTimeout{20};

// "v4.1.4" of "Open MPI v4.1.4, package: Debian OpenMPI, …"
std::string release_of(const std::string& library_version) {
  return library_version.substr(0, library_version.find(','));
}

std::vector<int> allowed_hardware_threads() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> threads;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return threads;
  for (int thread = 0; thread < CPU_SETSIZE; ++thread)
    if (CPU_ISSET(thread, &allowed)) threads.push_back(thread);
  return threads;
}

RankView view_of_this_rank() {
  return {.host = host_name(),
          .hardware_threads = allowed_hardware_threads(),
          .devices = environment_variable("CUDA_VISIBLE_DEVICES")};
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

void report_facts() {
  ProbeFacts facts{.cuda_built = cuda_is_built(), .cross_memory_attach = cross_memory_attach_works()};
  facts.libraries.push_back({.name = "MPI",
                             .header = mpi_header_version(),
                             .loaded = release_of(mpi_library_version()),
                             .path = mpi_library_path()});
  for (auto& library : cuda_libraries()) facts.libraries.push_back(std::move(library));
  print(line_of(facts));
}

void report_machine() {
  Host host = probe_host();
  probe_gpus(host);
  print(to_json(Machine{.hosts = {std::move(host)}}));
}

int report_ranks() {
  auto view = view_of_this_rank();
  if (!read_rank_environment(all_environment_variables()).launched) {
    print(line_of(view));
    return 0;
  }
  const TerminationSignal termination;
  const MpiSession session(kStartTimeout);
  try {
    const auto comm =
        make_mpi_comm(session, {.watchdog = {.timeout = kStartTimeout, .termination = &termination}});
    view.rank = comm->ranks().rank().value;
    view.world_size = comm->ranks().world_size();
    for (const auto& line : comm->ranks().all_gather(line_of(view)))
      if (comm->ranks().is_root()) print(line);
    return 0;
  } catch (...) {
    session.abort(report_failure(session.identity().rank.value, session.identity().host, termination));
  }
}

}  // namespace tandem

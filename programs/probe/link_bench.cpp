#include "probe/link_bench.h"

#include <optional>

#include "comm/mpi_pair_times.h"
#include "comm/mpi_session.h"
#include "core/error.h"
#include "environment/environment.h"
#include "report/atomic_file.h"
#include "trainer/device_setup.h"
#include "trainer/failure_report.h"
#include "trainer/job_setup.h"
#include "trainer/link_proof.h"
#include "trainer/link_setup.h"
#include "trainer/rank_environment.h"
#include "trainer/run_facts.h"

namespace tandem {
namespace {

constexpr const char* kConfig = "report: {name: bench}\n";  // and defaults; the links come as overrides

void refuse_one_rank(int ranks) {
  if (ranks > 1) return;
  throw InputError(
      {.what = "A link joins at least two ranks.",
       .where = "--ranks",
       .expected = "2 or more",
       .found = "1",
       .advice = "launcher bench --ranks 2; on a machine with one GPU, with --set device.kind=cpu"});
}

// Pacing is a property of collectives, and GPUs' pairs are the peer test's.
std::vector<BenchPair> measure_pairs(const RunConfig& config, Comm& comm) {
  std::vector<BenchPair> pairs;
  if (comm.worker() == nullptr || config.comm.pace_gbit > 0) return pairs;
  const int ranks = comm.ranks().world_size();
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      const auto times = measure_pair(*comm.worker(), {.from = Rank{from}, .to = Rank{to}});
      pairs.push_back({.from = from,
                       .to = to,
                       .latency_us = times.latency_us,
                       .gb_per_s = times.gb_per_s,
                       .both_gb_per_s = times.both_gb_per_s,
                       .messages_per_s = times.messages_per_s});
    }
  }
  return pairs;
}

void measure(const RunConfig& config, const RankEnvironment& job, const std::optional<NcclJob>& nccl,
             Comm& comm, const LinkBenchOptions& options) {
  StartupClock startup;  // a measurement of links does not show its phases
  auto compute = make_compute_device(config, job, comm, startup);
  auto& communicator = compute.communicator ? *compute.communicator : comm.communicator();
  auto& memory = compute.gradient_memory ? *compute.gradient_memory : compute.device->memory();
  LinkEvidence evidence{
      .before = snapshot_transport(), .nccl = nccl, .emulated = compute.emulated.has_value()};
  BenchRun run{.description = communicator.description(),
               .device = compute.device->name(),
               .ranks = communicator.world_size(),
               .versions = version_records(compute.device->kind(), true)};
  measure_collectives(
      {.device = *compute.device, .communicator = communicator, .ranks = comm.ranks(), .memory = memory},
      options.measurement, run);
  RunRecord record{.world_size = run.ranks};
  expect_link(config, prove_link(config, comm, evidence, record));
  run.transport = record.link.transport_found;
  if (compute.device->kind() == DeviceKind::Cpu) run.pairs = measure_pairs(config, comm);
  if (comm.ranks().is_root()) write_file_atomically(options.out / "bench.json", to_json(run));
  comm.ranks().barrier();  // nobody leaves before the file is there
}

}  // namespace

int bench_link(const LinkBenchOptions& options) {
  const TerminationSignal termination;
  const auto variables = all_environment_variables();
  const auto job = read_rank_environment(variables);
  try {
    refuse_one_rank(job.world_size);
    auto config = parse_run_config(kConfig, "bench", options.overrides);
    // Nothing is recorded and replayed here, and NCCL would then write a line of log for every collective.
    config.gpu.graph = false;
    const auto nccl = choose_links(config, job, options.out, variables);
    auto comm_settings = comm_options(config.comm);
    comm_settings.watchdog.termination = &termination;
    const MpiSession session(comm_settings.watchdog.timeout);
    try {
      const auto comm = make_mpi_comm(session, comm_settings);
      measure(config, job, nccl, *comm, options);
      return 0;
    } catch (...) {
      session.abort(report_failure(job.rank, session.identity().host, termination));
    }
  } catch (...) {
    return report_failure(job.rank, "this host", termination);
  }
}

}  // namespace tandem

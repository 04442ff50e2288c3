// probe: finds out what only a process with the libraries loaded can. `launcher doctor` and `launcher bench`
// start it and read its answers, so that the launcher itself starts where a library is missing or a driver
// hangs.
//
//   probe facts                      versions and paths of libraries
//   probe machine                    this host and its GPUs
//   probe peers                      data and bandwidth between every pair of GPUs
//   mpirun -np 2 probe ranks         what each rank sees
//   mpirun -np 2 probe link --out .  collectives and messages over one link
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "core/error.h"
#include "environment/error_report.h"
#include "environment/standard_streams.h"
#include "probe/cuda_probe.h"
#include "probe/link_bench.h"
#include "probe/self_report.h"

namespace tandem {
namespace {

void say(const std::string& line) {
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);  // the next test may hang
}

int guarded(const CLI::App& app, const PeerTestOptions& peers, const LinkBenchOptions& link) {
  try {
    if (app.got_subcommand("link")) return bench_link(link);
    if (app.got_subcommand("facts")) report_facts();
    if (app.got_subcommand("machine")) report_machine();
    if (app.got_subcommand("peers")) test_peers(peers, say);
    return app.got_subcommand("ranks") ? report_ranks() : 0;
  } catch (...) {
    return report_exception();
  }
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  tandem::open_standard_streams();
  CLI::App app("Answers what launcher doctor and launcher bench ask. To be started by them.", "probe");
  app.require_subcommand(1);
  app.add_subcommand("facts", "Versions and paths of the libraries");
  app.add_subcommand("machine", "This host and its GPUs, as JSON");
  app.add_subcommand("ranks", "What every rank of a job sees");
  tandem::PeerTestOptions peers;
  app.add_subcommand("peers", "Data and bandwidth between GPUs")
      ->add_flag("--all-ways", peers.all_ways, "Also both directions at once, and copies by a kernel");
  tandem::LinkBenchOptions link;
  auto* bench = app.add_subcommand("link", "Times of collectives and messages over one link");
  bench->add_option("--set", link.overrides, "Override one key of the config")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  bench->add_option("--out", link.out, "Folder of bench.json and of NCCL's logs")->required();
  bench->add_option("--max-bytes", link.measurement.max_bytes, "Largest size")->check(CLI::PositiveNumber);
  bench->add_option("--factor", link.measurement.factor, "From one size to the next")
      ->check(CLI::Range(2, 1024));
  bench->add_option("--seconds", link.measurement.seconds_per_point, "For each size")
      ->check(CLI::PositiveNumber);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    tandem::print_error(std::string(error.what()) + "; launcher doctor and launcher bench call it");
    return tandem::kInputErrorStatus;
  }
  return tandem::guarded(app, peers, link);
}

#include "launcher/slurm.h"

#include <fmt/format.h>

#include "core/error.h"
#include "environment/shell_quoting.h"

namespace tandem {

std::vector<std::string> srun_line(const SlurmRequest& request) {
  TANDEM_EXPECT(request.nodes >= 1 && request.ranks_per_node >= 1, "{} nodes with {} ranks each",
                request.nodes, request.ranks_per_node);
  std::vector<std::string> line = {"srun",
                                   "--mpi=pmix",
                                   fmt::format("--nodes={}", request.nodes),
                                   fmt::format("--ntasks={}", request.nodes * request.ranks_per_node),
                                   fmt::format("--ntasks-per-node={}", request.ranks_per_node),
                                   fmt::format("--cpus-per-task={}", request.cores_per_rank),
                                   request.bind ? "--cpu-bind=cores" : "--cpu-bind=none",
                                   "--kill-on-bad-exit=1"};
  if (request.gpus_per_node > 0) {
    line.push_back(fmt::format("--gpus-per-node={}", request.gpus_per_node));
    line.emplace_back("--gpu-bind=none");
  }
  std::string variables = "--export=ALL";
  for (const auto& variable : request.environment) {
    // srun separates variables by commas, so a value that has some travels through srun's own environment.
    if (variable.find(',') == std::string::npos) variables += ',' + variable;
  }
  line.push_back(variables);
  std::vector<std::string> with_commas;
  for (const auto& variable : request.environment)
    if (variable.find(',') != std::string::npos) with_commas.push_back(variable);
  if (!with_commas.empty()) {
    with_commas.insert(with_commas.begin(), "env");
    line.insert(line.begin(), with_commas.begin(), with_commas.end());
  }
  line.insert(line.end(), request.extra.begin(), request.extra.end());
  line.insert(line.end(), request.program.begin(), request.program.end());
  return line;
}

std::string sbatch_script(const BatchJob& batch) {
  const auto& job = batch.job;
  std::string text = "#!/bin/bash\n";
  // sbatch reads quotes as a shell does.
  const auto ask = [&text](const std::string& option) {
    text += fmt::format("#SBATCH {}\n", shell_quoted(std::vector<std::string>{option}));
  };
  ask("--job-name=" + batch.name);
  ask(fmt::format("--nodes={}", job.nodes));
  ask(fmt::format("--ntasks-per-node={}", job.ranks_per_node));
  ask(fmt::format("--cpus-per-task={}", job.cores_per_rank));
  if (job.gpus_per_node > 0) ask(fmt::format("--gpus-per-node={}", job.gpus_per_node));
  ask(fmt::format("--time={:02}:{:02}:00", batch.minutes / 60, batch.minutes % 60));
  ask("--chdir=" + batch.working_folder.string());
  ask("--output=" + (batch.folder / "slurm-%j.log").string());
  text += "set -euo pipefail\n";
  text +=
      "# Ranks on other hosts leave nothing on theirs: the record and the log come from rank 0 into this "
      "folder,\n";
  text += "# which must be on a file system that rank 0's host shares.\n";
  text += "exec " + shell_quoted(srun_line(job)) + '\n';
  return text;
}

}  // namespace tandem

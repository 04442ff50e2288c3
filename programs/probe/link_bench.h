// One rank of `launcher bench`: the start of a training job up to its communicator, and then measurements.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "probe/link_measurement.h"

namespace tandem {

struct LinkBenchOptions {
  std::vector<std::string> overrides;  // of the config: "comm.link=tcp"
  std::filesystem::path out;           // rank 0 writes bench.json here, and NCCL its logs
  MeasurementOptions measurement;
};

// Called on every rank of a job that mpirun or srun started. Returns the exit status; prints what went wrong.
int bench_link(const LinkBenchOptions& options);

}  // namespace tandem

// From the configuration to the options of a training job.
#pragma once

#include "comm/comm_setup.h"
#include "run_config/run_config.h"
#include "train/training_job.h"

namespace tandem {

// `steps_per_epoch` turns what the config says in epochs into steps.
JobOptions job_options(const RunConfig& config, const BatchSizes& sizes, std::int64_t steps_per_epoch);

// The control run after training; none if it was not asked for.
std::optional<ControlOptions> control_options(const MeasureConfig& config);

// Without the watchdog's termination signal.
CommOptions comm_options(const CommConfig& config);

}  // namespace tandem

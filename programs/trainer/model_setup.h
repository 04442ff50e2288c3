// From the configuration and the data to a model.
#pragma once

#include "models/registry.h"
#include "run_config/run_config.h"
#include "trainer/data_setup.h"

namespace tandem {

// Image size, classes and normalisation come from the data. Throws InputError if data and model do not go
// together.
ModelSpec model_spec(const RunConfig& config, const Datasets& datasets);

}  // namespace tandem

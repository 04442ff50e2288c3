// From the configuration to data sets.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/batch_source.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "run_config/run_config.h"

namespace tandem {

// Exactly one kind is there. `held_out` is null where there is nothing to evaluate on.
struct Datasets {
  SplitDataset<ImageDataset> images;
  SplitDataset<TokenDataset> tokens;
};

Datasets open_datasets(const RunConfig& config);

// Lines of what must be equal on all ranks; see train/startup_check.h.
std::string data_facts(const Datasets& datasets);

// Which samples each rank reads, and the bytes of its batches.
struct Batches {
  Sampler train_sampler;
  std::unique_ptr<BatchSource> train;
  std::optional<Sampler> evaluation_sampler;
  std::unique_ptr<BatchSource> evaluation;
};

// `datasets` outlives the batches.
Batches make_batches(const RunConfig& config, const Datasets& datasets, const BatchSizes& sizes, int rank,
                     int world_size);

}  // namespace tandem

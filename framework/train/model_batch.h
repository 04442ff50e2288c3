// Between batches of data and the inputs of a model.
#pragma once

#include <cstdint>

#include "data/batch.h"
#include "layers/context.h"
#include "models/model.h"
#include "train/batch_slot.h"

namespace tandem {

// A batch of `micro_batches` micro-batches of what the model takes.
BatchFormat batch_format(const ModelInput& input, std::int64_t micro_batches);

// Lets the next pass of the model read micro-batch `index` of `count` out of the slot.
void bind_batch(const Model& model, const BatchSlot& slot, int index, int count, Context& context);

}  // namespace tandem

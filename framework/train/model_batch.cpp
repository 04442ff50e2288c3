#include "train/model_batch.h"

namespace tandem {

BatchFormat batch_format(const ModelInput& input, std::int64_t micro_batches) {
  const auto samples = input.samples() * micro_batches;
  if (input.dtype == DType::I32) {
    return {.input_dtype = input.dtype,
            .inputs = {samples, input.shape[1]},
            .targets = {samples, input.shape[1]}};
  }
  return {.input_dtype = input.dtype,
          .inputs = {samples, input.shape[1], input.shape[2], input.shape[3]},
          .targets = {samples}};
}

void bind_batch(const Model& model, const BatchSlot& slot, int index, int count, Context& context) {
  const auto part = micro_batch(slot.batch(), index, count);
  context.bind_external(model.batch(), part.inputs);
  context.bind_external(model.targets(), part.targets.reshaped({model.input().targets}));
  if (!model.positions().valid()) return;
  const auto samples = model.input().samples();
  auto* first = slot.positions().data<std::int64_t>() + index * samples;
  context.bind_external(model.positions(), TensorView(first, DType::I64, {samples}));
}

}  // namespace tandem

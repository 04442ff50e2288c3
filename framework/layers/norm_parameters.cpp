#include "layers/norm_parameters.h"

#include "core/error.h"

namespace tandem {

void NormParameters::declare(Planner& plan, const BatchNormSpec& spec, bool zero_scale) {
  if (spec.statistics == NormStatistics::Batch && spec.rows < 2) {
    throw InputError({.what = "batch norm has one value per channel, whose variance is undefined",
                      .where = plan.path("norm"),
                      .expected = "at least 2 rows (samples times pixels) in a micro-batch",
                      .found = fmt::format("{}", spec.rows),
                      .advice = "raise train.micro_batch, use larger images, or set model.norm: none"});
  }
  weight_ = plan.parameter({.name = "weight",
                            .canonical = {spec.C},
                            .stored = {spec.C},
                            .group = OptimizerGroup::NormAndBias,
                            .initializer = Initializer::constant(zero_scale ? 0.0f : 1.0f)});
  bias_ = plan.parameter({.name = "bias",
                          .canonical = {spec.C},
                          .stored = {spec.C},
                          .group = OptimizerGroup::NormAndBias,
                          .initializer = Initializer::constant(0.0f)});
  if (spec.statistics == NormStatistics::Identity) return;
  mean_ = plan.buffer("running_mean", {spec.C}, 0.0f);
  variance_ = plan.buffer("running_var", {spec.C}, 1.0f);
}

BatchNormParameters NormParameters::views(const Context& context) const {
  const auto buffer = [&](BufferId id) { return id.index < 0 ? TensorView() : context.buffer(id); };
  return {context.weight(weight_), context.weight(bias_), buffer(mean_), buffer(variance_)};
}

}  // namespace tandem

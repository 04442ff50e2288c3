#include "models/resnet.h"

#include <fmt/format.h>

#include "layers/linear_layer.h"
#include "layers/norm_max_pool_layer.h"
#include "layers/pool_layer.h"

namespace tandem {
namespace {

NormOptions norm_options(ResNetNorm norm, NormTail tail) {
  switch (norm) {
    case ResNetNorm::None:
      return {.statistics = NormStatistics::Identity, .tail = tail};
    case ResNetNorm::Frozen:
      return {.statistics = NormStatistics::Running, .tail = tail};
    case ResNetNorm::Batch:
      break;
  }
  return {.statistics = NormStatistics::Batch, .tail = tail};
}

void add_stem(Sequential& net, const ResNetSpec& spec) {
  const bool imagenet = spec.stem == ResNetStem::ImageNet;
  const auto conv =
      imagenet ? Conv2dOptions{.channels = spec.width, .kernel = 7, .stride = 2, .padding = 3}
               : Conv2dOptions{.channels = spec.width, .kernel = 3, .stride = spec.stem_stride, .padding = 1};
  net.add("conv1", std::make_unique<ImageConv2dLayer>(
                       ImageConv2dOptions{.input = spec.input, .conv = conv, .form = spec.stem_form}));
  const auto norm = norm_options(spec.norm, NormTail::Relu);
  if (imagenet) {
    net.add("bn1", std::make_unique<NormMaxPoolLayer>(NormMaxPoolOptions{.statistics = norm.statistics}));
  } else {
    net.add("bn1", std::make_unique<NormLayer>(norm));
  }
}

}  // namespace

ResidualBlock::ResidualBlock(const ResidualOptions& options, std::int64_t in) {
  const auto relu = norm_options(options.norm, NormTail::Relu);
  auto last = norm_options(options.norm, NormTail::AddRelu);
  last.zero_scale = options.zero_init_last_scale;
  const auto channels = options.channels;
  if (options.kind == ResidualKind::Bottleneck) {
    add({.channels = channels}, relu);
    add({.channels = channels, .kernel = 3, .stride = options.stride, .padding = 1}, relu);
    add({.channels = options.out()}, last);
  } else {
    add({.channels = channels, .kernel = 3, .stride = options.stride, .padding = 1}, relu);
    add({.channels = channels, .kernel = 3, .padding = 1}, last);
  }
  if (options.stride == 1 && in == options.out()) return;
  stages_.back().norm.reset();
  downsample_ =
      std::make_unique<Conv2dLayer>(Conv2dOptions{.channels = options.out(), .stride = options.stride});
  both_norms_ = std::make_unique<DualNormLayer>(
      DualNormOptions{.statistics = last.statistics,
                      .zero_scale = last.zero_scale,
                      .names = {fmt::format("bn{}", stages_.size()), "downsample.1"}});
}

void ResidualBlock::add(const Conv2dOptions& conv, const NormOptions& norm) {
  stages_.push_back({std::make_unique<Conv2dLayer>(conv), std::make_unique<NormLayer>(norm)});
}

// The shortcut comes right before the norm that reads it: until then it takes no memory.
Flow ResidualBlock::plan_end(Planner& plan, Flow branch, Flow x) {
  if (downsample_) {
    TensorId shortcut;
    {
      const auto scope = plan.scope("downsample.0");
      shortcut = downsample_->plan_forward(plan, x).first;
    }
    return both_norms_->plan_forward(plan, branch.first, shortcut);
  }
  const auto scope = plan.scope(fmt::format("bn{}", stages_.size()));
  return stages_.back().norm->plan_forward(plan, branch, x.first);
}

Flow ResidualBlock::plan_forward(Planner& plan, Flow x) {
  x.first = input_.plan(plan, x);
  x.second = {};
  Flow flow = x;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    {
      const auto scope = plan.scope(fmt::format("conv{}", i + 1));
      flow = stages_[i].conv->plan_forward(plan, flow);
    }
    if (i + 1 == stages_.size()) return plan_end(plan, flow, x);
    const auto scope = plan.scope(fmt::format("bn{}", i + 1));
    flow = stages_[i].norm->plan_forward(plan, flow);
  }
  return flow;
}

Flow ResidualBlock::plan_backward(Planner& plan, Flow dy) {
  TensorId d_shortcut;
  if (downsample_) {
    const auto [d_branch, d_other] = both_norms_->plan_backward(plan, dy);
    dy = Flow::of(d_branch);
    d_shortcut = d_other;
  }
  for (auto i = stages_.size(); i-- > 0;) {
    if (stages_[i].norm) {
      const auto scope = plan.scope(fmt::format("bn{}", i + 1));
      dy = stages_[i].norm->plan_backward(plan, dy);
    }
    const auto scope = plan.scope(fmt::format("conv{}", i + 1));
    dy = stages_[i].conv->plan_backward(plan, dy);
  }
  if (downsample_) {
    const auto scope = plan.scope("downsample.0");
    d_shortcut = downsample_->plan_backward(plan, Flow::of(d_shortcut)).first;
  } else {
    d_shortcut = stages_.back().norm->d_residual();
  }
  return dy.needs_gradient ? Flow::sum(dy.first, d_shortcut) : Flow::none();
}

void ResidualBlock::forward(Context& context) {
  input_.run(context);
  for (auto& stage : stages_) {
    stage.conv->forward(context);
    if (stage.norm) stage.norm->forward(context);
  }
  if (!downsample_) return;
  downsample_->forward(context);
  both_norms_->forward(context);
}

void ResidualBlock::backward(Context& context) {
  if (both_norms_) both_norms_->backward(context);
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    if (stage->norm) stage->norm->backward(context);
    stage->conv->backward(context);
  }
  if (downsample_) downsample_->backward(context);
}

std::unique_ptr<Layer> make_resnet(const ResNetSpec& spec) {
  auto net = std::make_unique<Sequential>();
  add_stem(*net, spec);
  auto channels = spec.width;
  for (std::size_t stage = 0; stage < spec.blocks.size(); ++stage) {
    auto blocks = std::make_unique<Sequential>();
    for (std::int64_t i = 0; i < spec.blocks[stage]; ++i) {
      const ResidualOptions options{.kind = spec.block,
                                    .channels = spec.width << stage,
                                    .stride = stage > 0 && i == 0 ? 2 : 1,
                                    .norm = spec.norm,
                                    .zero_init_last_scale = spec.zero_init_last_scale};
      blocks->add(fmt::format("{}", i), std::make_unique<ResidualBlock>(options, channels));
      channels = options.out();
    }
    net->add(fmt::format("layer{}", stage + 1), std::move(blocks));
  }
  net->add("avgpool", std::make_unique<PoolLayer>(PoolOptions::global_average()));
  net->add("fc", std::make_unique<LinearLayer>(LinearOptions{.channels = spec.classes}));
  return net;
}

}  // namespace tandem

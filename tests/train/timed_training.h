// Training whose passes, updates and all-reduces take times that are known: on a virtual device, where they
// are arithmetic, or on the CPU's streams, where they are sleeps.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/rank_group.h"
#include "comm/short_sleep.h"
#include "data/synthetic.h"
#include "device/cpu/cpu_stream.h"
#include "layers/recomputed.h"
#include "support/silent_backend.h"
#include "support/virtual_device.h"
#include "train/training_job.h"

namespace tandem {

// Enqueues work of this duration.
using Spend = std::function<void(Stream& stream, double ms)>;

// On a virtual stream arithmetic, on a CPU stream sleep.
inline void spend_on_host(Stream& stream, double ms) {
  if (auto* arithmetic = dynamic_cast<VirtualStream*>(&stream)) {
    arithmetic->run_for(ms);
    return;
  }
  as_cpu(stream).enqueue([ms] {
    take_short_sleeps();
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
  });
}

// Milliseconds. Multiples of 1/8, so that sums are exact in binary.
struct TimedLayerSpec {
  double forward_ms = 1.0;
  double weight_gradient_ms = 1.0;  // then the gradient is ready
  double data_gradient_ms = 1.0;    // not in the first layer
};

struct TimedNetwork {
  std::vector<TimedLayerSpec> layers;  // one tensor, hence one bucket, each
  double loss_ms = 0.5;
  bool recompute = false;         // of every layer but the last, whose output the loss turns into a gradient
  std::vector<double> update_ms;  // by bucket: the last layer's first
  std::vector<double> all_reduce_ms;  // likewise
  Spend spend = spend_on_host;

  bool recomputes(std::size_t layer) const { return recompute && layer + 1 < layers.size(); }
};

inline constexpr std::int64_t kTimedWidth = 2048;  // elements of a tensor: a bucket without padding

class TimedLayer final : public Layer {
 public:
  TimedLayer(TimedLayerSpec spec, Spend spend) : spec_(spec), spend_(std::move(spend)) {}

  Flow plan_forward(Planner& plan, Flow x) override {
    x_ = x.first;
    weight_ = plan.parameter({.name = "weight", .canonical = {kTimedWidth}, .stored = {kTimedWidth}});
    y_ = plan.tensor("y", {plan.shape(x_)[0], 2});
    needs_gradient_ = x.needs_gradient;
    plan.op({reads(x_), writes(y_)});
    return Flow::of(y_);
  }
  Flow plan_backward(Planner& plan, Flow dy) override {
    dy_ = dy.first;
    plan.op({reads(dy_)});
    plan.gradient(weight_);
    if (!needs_gradient_) return Flow::none();
    dx_ = plan.tensor("dx", plan.shape(x_));
    plan.op({reads(dy_), writes(dx_)});
    return Flow::of(dx_);
  }
  void forward(Context& context) override {
    context.read(x_);
    context.write(y_);
    spend_(context.stream(), spec_.forward_ms);
  }
  void backward(Context& context) override {
    auto& stream = context.stream();
    context.read(dy_);
    context.begin_gradient(weight_);
    spend_(stream, spec_.weight_gradient_ms);
    context.end_gradient(weight_);
    if (!needs_gradient_) return;
    context.read(dy_);
    context.write(dx_);
    spend_(stream, spec_.data_gradient_ms);
  }

 private:
  TimedLayerSpec spec_;
  Spend spend_;
  bool needs_gradient_ = true;
  ParamId weight_;
  TensorId x_, y_, dy_, dx_;
};

class TimedSequence final : public Layer {
 public:
  explicit TimedSequence(const TimedNetwork& network) {
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
      layers_.push_back(std::make_unique<TimedLayer>(network.layers[i], network.spend));
      if (network.recomputes(i)) layers_.back() = std::make_unique<Recomputed>(std::move(layers_.back()));
    }
  }
  Flow plan_forward(Planner& plan, Flow x) override {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto scope = plan.scope(std::to_string(i));
      x = layers_[i]->plan_forward(plan, x);
    }
    return x;
  }
  Flow plan_backward(Planner& plan, Flow dy) override {
    for (auto i = layers_.size(); i-- > 0;) {
      const auto scope = plan.scope(std::to_string(i));
      dy = layers_[i]->plan_backward(plan, dy);
    }
    return dy;
  }
  void forward(Context& context) override {
    for (auto& layer : layers_) layer->forward(context);
  }
  void backward(Context& context) override {
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) (*layer)->backward(context);
  }

 private:
  std::vector<std::unique_ptr<Layer>> layers_;
};

// What a step needs beside layers; takes no time but for loss and updates.
class TimedBackend final : public SilentBackend {
 public:
  TimedBackend(const TimedNetwork& network, Device& device) : network_(network), device_(device) {}

  std::unique_ptr<SoftmaxCrossEntropy> make_softmax_cross_entropy(const SoftmaxCrossEntropySpec&) override {
    return std::make_unique<Loss>(network_);
  }
  std::unique_ptr<OptimizerUpdate> make_sgd(const SgdSpec&) override {
    return std::make_unique<Update>(network_);
  }
  std::unique_ptr<GradientNorm> make_gradient_norm(const GradientNormSpec&) override {
    return std::make_unique<Norm>();
  }
  std::unique_ptr<StepBookkeeping> make_step_bookkeeping(bool) override {
    return std::make_unique<Bookkeeping>(device_);
  }

 private:
  struct Loss final : SoftmaxCrossEntropy {
    explicit Loss(const TimedNetwork& of) : network(of) {}
    ByteCount workspace_bytes() const override { return ByteCount(0); }
    void train(Stream& stream, TensorView, TensorView, StepPointers, TensorView) override {
      network.spend(stream, network.loss_ms);
    }
    void evaluate(Stream&, TensorView, TensorView, StepPointers, TensorView) override {}
    const TimedNetwork& network;
  };
  // Takes the time of every bucket in the range.
  struct Update final : OptimizerUpdate {
    explicit Update(const TimedNetwork& of) : network(of) {}
    int states() const override { return 1; }
    void step(Stream& stream, const UpdateRange& range, StepPointers) override {
      const auto first = range.first / kTimedWidth;
      const auto count = range.master.elements().value() / kTimedWidth;
      for (auto bucket = first; bucket < first + count; ++bucket) {
        network.spend(stream, network.update_ms[static_cast<std::size_t>(bucket)]);
      }
    }
    const TimedNetwork& network;
  };
  struct Norm final : GradientNorm {
    ByteCount workspace_bytes() const override { return ByteCount(0); }
    void measure(Stream&, TensorView, StepPointers, TensorView) override {}
  };
  struct Bookkeeping final : StepBookkeeping {
    explicit Bookkeeping(Device& device) : results(device.pinned_memory(), ByteCount(sizeof(StepResults))) {
      new (results.data()) StepResults{.loss_sum = 1.0, .valid_targets = 1};
    }
    void begin(Stream& stream, StepPointers pointers) override {
      stream.copy(pointers.results, results.data(), results.bytes());
    }
    void end(Stream&, StepPointers) override {}
    Buffer results;
  };

  const TimedNetwork& network_;
  Device& device_;
};

// A wire that carries bucket b in all_reduce_ms[b], from the moment at which the last rank has come.
class TimedWire : public Communicator {
 public:
  TimedWire(const TimedNetwork& network, RankGroup& group) : network_(network), group_(group) {}

  Rank rank() const override { return group_.rank(); }
  int world_size() const override { return group_.world_size(); }
  void all_reduce_sum(TensorView, Stream& stream) override {
    auto& link = as_virtual(stream);
    double last = link.now_ms();
    for (const auto& arrival : group_.all_gather(fmt::format("{}", link.now_ms()))) {
      last = std::max(last, std::strtod(arrival.c_str(), nullptr));
    }
    link.run_until(last + network_.all_reduce_ms[calls_++ % network_.all_reduce_ms.size()]);
  }
  void reduce_scatter_sum(TensorView, Stream&) override {}
  void all_gather(TensorView, Stream&) override {}
  void broadcast(TensorView, Rank, Stream&) override {}
  void throw_if_failed() override {}
  std::string description() const override { return "timed"; }

 private:
  const TimedNetwork& network_;
  RankGroup& group_;
  std::size_t calls_ = 0;
};

// Where a timed network trains; all of it outlives the job.
struct TimedSite {
  Device& device;
  Communicator& communicator;
  RankGroup& group;
  PowerSource* power = nullptr;
};

// A job of one rank that trains `network`, a bucket per layer. `network` outlives it.
class TimedJob {
 public:
  TimedJob(const TimedNetwork& network, const TimedSite& site, JobOptions options,
           std::int64_t micro_steps = 1)
      : group_(site.group),
        warmup_steps_(options.warmup_steps),
        sampler_(Sampler::training(images_.samples(),
                                   {.ranks = site.group.world_size(), .micro_steps = micro_steps}, 1)),
        batches_(images_, sampler_, site.group.rank().value),
        ops_(network, site.device),
        model_({.dtype = DType::U8, .shape = {1, 2, 2, 1}, .targets = 1},
               std::make_unique<TimedSequence>(network),
               std::make_unique<LossLayer>(LossOptions{.classes = 2})),
        job_({.device = site.device,
              .ops = ops_,
              .communicator = site.communicator,
              .group = site.group,
              .model = model_,
              .sampler = sampler_,
              .train = batches_,
              .power = site.power},
             in_buckets_of_a_layer(std::move(options)), "") {}

  TrainingJob& job() { return job_; }

  RunRecord run() {
    RunRecord record{.world_size = group_.world_size(), .warmup_steps = warmup_steps_};
    job_.run(record, [](const JobProgress&) {});
    return record;
  }

 private:
  static JobOptions in_buckets_of_a_layer(JobOptions options) {
    options.grouping = Grouping::PerTensor;
    return options;
  }

  RankGroup& group_;
  int warmup_steps_;
  SyntheticImages images_{{.samples = 1000, .shape = {2, 2, 1}, .classes = 2}};
  Sampler sampler_;
  ImageBatches batches_;
  TimedBackend ops_;
  Model model_;
  TrainingJob job_;
};

}  // namespace tandem

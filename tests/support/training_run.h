// A whole training run on synthetic data, small enough for a test.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/synthetic.h"
#include "models/registry.h"
#include "support/training_device.h"
#include "train/training_job.h"

namespace tandem {

struct TrainingSetup {
  ModelSpec model;
  std::int64_t global_batch = 12;  // divides among 1, 2, 3 and 4 ranks
  std::int64_t micro_steps = 1;
  std::int64_t train_samples = 60;
  std::int64_t evaluation_samples = 0;  // 0: no evaluation
  JobOptions job;
  std::function<void(const MemoryNeed&)> before_memory = nullptr;
};

inline ModelSpec tiny_resnet(ResNetNorm norm) {
  ModelSpec spec{.name = "resnet"};
  spec.width = 4;
  spec.blocks = {1, 1};
  spec.norm = norm;
  spec.classes = 5;
  spec.image = {8, 8, 1};
  return spec;
}

inline ModelSpec tiny_gpt(float dropout = 0.0f) {
  ModelSpec spec{.name = "gpt"};
  spec.layers = 2;
  spec.heads = 2;
  spec.channels = 16;
  spec.context = 8;
  spec.vocab = 32;
  spec.dropout = dropout;
  spec.seed = 3;
  return spec;
}

inline OptimizerOptions sgd(float momentum) {
  return {.rule = SgdOptions{.momentum = momentum}};
}

// Small models in several buckets: one tensor or two in each.
inline JobOptions small_job(std::int64_t steps, double learning_rate) {
  JobOptions options;
  options.total_steps = steps;
  options.log_every = 1;
  options.buckets = {.first = ByteCount(1024), .each = ByteCount(4096), .last = ByteCount(512)};
  options.optimizer = sgd(0.0f);
  options.trainer.learning_rate = {.base = learning_rate, .total_steps = steps};
  return options;
}

// Owns everything of one rank's run but what joins the ranks.
class TrainingRun {
 public:
  TrainingRun(const TrainingSetup& setup, Communicator& communicator, RankGroup& group,
              const std::string& facts = "", TrainingDevice on = {})
      : on_(std::move(on)),
        micro_batch_(setup.global_batch / (group.world_size() * setup.micro_steps)),
        sampler_(Sampler::training(setup.train_samples, grid(setup, group), setup.job.seed)),
        model_(make_model(setup.model, micro_batch_)) {
    make_batches(setup, group);
    job_.emplace(JobParts{.device = *on_.device,
                          .ops = *on_.ops,
                          .communicator = communicator,
                          .group = group,
                          .model = model_,
                          .sampler = sampler_,
                          .train = *train_,
                          .evaluation_sampler = evaluation_ ? &*evaluation_sampler_ : nullptr,
                          .evaluation = evaluation_.get(),
                          .before_memory = setup.before_memory},
                 setup.job, facts);
  }

  TrainingJob& job() { return *job_; }
  const BatchSource& train_batches() const { return *train_; }
  std::int64_t micro_batch() const { return micro_batch_; }
  const ParameterStore& store() const { return job_->parameters(); }

  const RunRecord& run(const std::function<void(const JobProgress&)>& progress = [](const JobProgress&) {}) {
    job_->run(record_, progress);
    return record_;
  }

  // In order of declaration and without padding, so that runs with different buckets can be compared.
  std::vector<float> parameters() const {
    std::vector<float> all;
    for (int i = 0; i < static_cast<int>(store().layout().count()); ++i) append(store().master({i}), all);
    return all;
  }
  std::vector<float> buffers() const {
    std::vector<float> all;
    append(store().all_buffers(), all);
    return all;
  }

 private:
  BatchGrid grid(const TrainingSetup& setup, const RankGroup& group) const {
    return {.micro_batch = micro_batch_, .ranks = group.world_size(), .micro_steps = setup.micro_steps};
  }

  void make_batches(const TrainingSetup& setup, const RankGroup& group) {
    const auto& spec = setup.model;
    const auto rank = group.rank().value;
    const bool tokens = spec.name == "gpt";
    const auto source = [&](std::int64_t samples, std::uint64_t seed,
                            const Sampler& sampler) -> std::unique_ptr<BatchSource> {
      if (tokens) {
        tokens_.push_back(std::make_unique<SyntheticTokens>(SyntheticTokenOptions{
            .samples = samples, .sequence_length = spec.context, .vocabulary = spec.vocab, .seed = seed}));
        return std::make_unique<TokenBatches>(*tokens_.back(), sampler, rank);
      }
      images_.push_back(std::make_unique<SyntheticImages>(
          SyntheticImageOptions{.samples = samples,
                                .shape = {spec.image[0], spec.image[1], spec.image[2]},
                                .classes = spec.classes,
                                .seed = seed}));
      return std::make_unique<ImageBatches>(*images_.back(), sampler, rank);
    };
    train_ = source(setup.train_samples, 1, sampler_);
    if (setup.evaluation_samples == 0) return;
    evaluation_sampler_ = Sampler::evaluation(setup.evaluation_samples,
                                              {.micro_batch = micro_batch_, .ranks = group.world_size()});
    evaluation_ = source(setup.evaluation_samples, 2, *evaluation_sampler_);
  }

  void append(TensorView from, std::vector<float>& to) const {
    if (from.empty()) return;
    const Buffer host(on_.device->pinned_memory(), from.bytes());
    const auto stream = on_.device->make_stream(StreamRole::Copy);
    stream->copy(host.data(), from.raw(), from.bytes());
    stream->synchronize();
    const auto* values = static_cast<const float*>(host.data());
    to.insert(to.end(), values, values + from.elements().value());
  }

  TrainingDevice on_;
  std::int64_t micro_batch_;
  Sampler sampler_;
  Model model_;
  std::vector<std::unique_ptr<SyntheticImages>> images_;
  std::vector<std::unique_ptr<SyntheticTokens>> tokens_;
  std::unique_ptr<BatchSource> train_, evaluation_;
  std::optional<Sampler> evaluation_sampler_;
  std::optional<TrainingJob> job_;
  RunRecord record_;
};

// ||a - b|| / ||b|| over all parameters together, in the L2 norm.
inline double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double difference = 0.0;
  double norm = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    norm += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / norm);
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  // An empty vector's data() may be null, which memcmp does not take.
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace tandem

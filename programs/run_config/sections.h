// The configuration as plain structs: one per section of the YAML file, members named like the keys.
//
// The initializers are the defaults of a run (a small ResNet on Fashion-MNIST with SGD). Ranges, units and
// one-line explanations of every member are in schema_model.cpp and schema_run.cpp; `trainer --help-config`
// prints them. Defaults that depend on another key (a GPT reads text, AdamW has another learning rate) are
// filled in by the reader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem {

struct ModelConfig {
  // The families are contiguous, so that is_gpt() stays right when a model is added to either.
  enum class Name {
    ResNet8,
    ResNet20,
    ResNet18,
    ResNet34,
    ResNet50,
    ResNet101,
    ResNet152,
    ResNet,  // ResNet, Gpt: freely sized
    Gpt,
    Gpt2_124M,
    Gpt2_350M,
    Gpt2_774M,
    Gpt2_1_5B,
    Gpt3_1_3B
  };
  enum class Stem { Small, ImageNet };
  enum class Block { Basic, Bottleneck };
  enum class Norm { Batch, None, Frozen };

  Name name = Name::ResNet8;

  int width = 16;
  std::vector<int> blocks = {1, 1, 1};
  Stem stem = Stem::Small;
  Block block = Block::Basic;
  Norm norm = Norm::Batch;
  bool zero_init_last_scale = false;

  int layers = 4;
  int heads = 4;
  int channels = 128;
  int context = 128;
  int vocab = 256;
  int padded_vocab = 0;  // 0: no padding
  double dropout = 0.0;

  bool is_gpt() const { return name >= Name::Gpt; }
  bool operator==(const ModelConfig&) const = default;
};

struct AugmentConfig {
  int crop_padding = 0;
  bool flip = false;
  bool operator==(const AugmentConfig&) const = default;
};

struct DataConfig {
  enum class Kind { FashionMnist, Idx, Cifar10, SyntheticImages, Text, Tokens, SyntheticTokens };

  Kind kind = Kind::FashionMnist;
  std::string path = "/usr/share/datasets/fashion-mnist";
  std::int64_t limit = 0;       // samples; 0: all
  std::int64_t eval_limit = 0;  // samples; 0: all
  int classes = 10;
  std::vector<int> image = {32, 32, 3};  // height, width, channels
  AugmentConfig augment;
  double validation_fraction = 0.1;
  int prefetch = 2;

  bool is_tokens() const { return kind >= Kind::Text; }
  bool is_synthetic() const { return kind == Kind::SyntheticImages || kind == Kind::SyntheticTokens; }
  bool operator==(const DataConfig&) const = default;
};

struct TrainConfig {
  enum class Recompute { None, Blocks };

  int epochs = 5;
  std::int64_t max_steps = 0;  // 0: no limit
  int micro_batch = 64;
  int accumulation = 1;           // 0: follows from global_batch, see resolve_batch()
  std::int64_t global_batch = 0;  // 0: follows from accumulation
  Recompute recompute = Recompute::None;
  double label_smoothing = 0.0;
  int eval_every = 1;  // epochs; 0: never
  int log_every = 10;  // steps
  int warmup_steps_excluded = 5;
  bool operator==(const TrainConfig&) const = default;
};

struct OptimConfig {
  enum class Name { Sgd, AdamW };
  enum class Schedule { Constant, Step, Cosine, Linear };

  Name name = Name::Sgd;
  double lr = 0.1;
  std::int64_t lr_reference_batch = 0;  // 0: lr is not scaled with the batch
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 5e-4;
  bool decay_norm_and_bias = false;
  double clip_norm = 0.0;  // 0: off
  Schedule schedule = Schedule::Cosine;
  std::int64_t warmup_steps = 0;
  double warmup_epochs = 0.0;
  std::vector<int> step_epochs;
  double step_gamma = 0.1;
  double final_lr_fraction = 0.0;
  bool operator==(const OptimConfig&) const = default;
};

struct PrecisionConfig {
  enum class Compute { Fp32, Tf32, Bf16, Fp16 };
  enum class Reduce { Fp32, Bf16, Fp16 };

  Compute compute = Compute::Fp32;
  Reduce reduce = Reduce::Fp32;
  bool operator==(const PrecisionConfig&) const = default;
};

struct CommConfig {
  enum class Backend { Auto, Single, Mpi, Ring, Nccl, Emulated };
  enum class Link { Auto, Shm, Tcp, Net, NvLink, Pcie };
  enum class Grouping { PerTensor, Bucketed };
  enum class Schedule { After, Overlapped };

  Backend backend = Backend::Auto;
  Link link = Link::Auto;
  Link expect = Link::Auto;      // written "" in YAML: whatever is found will do
  double pace_gbit = 0.0;        // Gbit/s; 0: bandwidth is not paced
  double pace_latency_us = 0.0;  // 0: latency is not paced
  Grouping grouping = Grouping::Bucketed;
  Schedule schedule = Schedule::Overlapped;
  bool naive = false;  // true sets grouping and schedule to per_tensor and after; nothing else reads it
  double first_bucket_mb = 1.0;
  double bucket_mb = 25.0;
  double last_bucket_mb = 1.0;
  int max_ctas = 0;
  bool register_gradients = false;  // "register" in YAML
  int emulate_ranks = 8;
  double timeout_s = 120.0;
  int check_replicas_every = 0;  // steps; 0: never
  bool operator==(const CommConfig&) const = default;
};

struct DeviceConfig {
  enum class Kind { Auto, Cpu, Cuda };

  Kind kind = Kind::Auto;
  bool deterministic = false;
  bool operator==(const DeviceConfig&) const = default;
};

struct GpuConfig {
  bool share = false;
  bool graph = true;
  bool operator==(const GpuConfig&) const = default;
};

struct ReportConfig {
  enum class Metrics { Off, Summary, Trace };

  std::string dir = "runs";
  Metrics metrics = Metrics::Summary;
  int trace_steps = 20;
  std::string name = "run";
  bool operator==(const ReportConfig&) const = default;
};

struct MeasureConfig {
  enum class Contention { Off, On };

  Contention contention = Contention::Off;
  int control_pairs = 5;
  int control_steps = 20;
  double peak_tflops = 0.0;          // 0: from the table of known GPUs
  double price_per_rank_hour = 0.0;  // 0: no price
  double price_per_kwh = 0.0;        // 0: no price
  std::string currency = "EUR";

  bool has_prices() const { return price_per_rank_hour > 0 || price_per_kwh > 0; }
  bool operator==(const MeasureConfig&) const = default;
};

struct RunConfig {
  std::int64_t seed = 1;
  ModelConfig model;
  DataConfig data;
  TrainConfig train;
  OptimConfig optim;
  PrecisionConfig precision;
  CommConfig comm;
  DeviceConfig device;
  GpuConfig gpu;
  ReportConfig report;
  MeasureConfig measure;
  bool operator==(const RunConfig&) const = default;
};

}  // namespace tandem

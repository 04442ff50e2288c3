// The table of keys, second part: how it is trained. A new key is a member in sections.h and an entry here.
#include "run_config/schema_builder.h"

namespace tandem {
namespace {

bool is_sgd(const RunConfig& c) {
  return c.optim.name == OptimConfig::Name::Sgd;
}
bool is_adamw(const RunConfig& c) {
  return c.optim.name == OptimConfig::Name::AdamW;
}
bool has_steps(const RunConfig& c) {
  return c.optim.schedule == OptimConfig::Schedule::Step;
}
bool has_blocks_that_can_run_twice(const RunConfig& c) {
  return c.model.is_gpt();
}
bool traces(const RunConfig& c) {
  return c.report.metrics == ReportConfig::Metrics::Trace;
}
bool decays_to_an_end(const RunConfig& c) {
  return c.optim.schedule == OptimConfig::Schedule::Cosine ||
         c.optim.schedule == OptimConfig::Schedule::Linear;
}

bool has_control_run(const RunConfig& c) {
  return c.measure.contention == MeasureConfig::Contention::On;
}

void add_schedule_keys(SectionBuilder& optim, OptimConfig& o) {
  using Schedule = OptimConfig::Schedule;
  optim
      .key("schedule",
           choice(o.schedule, {{"constant", Schedule::Constant},
                               {"step", Schedule::Step},
                               {"cosine", Schedule::Cosine},
                               {"linear", Schedule::Linear}}),
           "Learning rate after warm-up.")
      .key("warmup_steps", integer(o.warmup_steps, 0, kManySamples), "Linear warm-up, in steps; 0: none.")
      .unit("steps")
      .key("warmup_epochs", number(o.warmup_epochs, 0, 1e6), "Linear warm-up, in epochs; 0: none.")
      .unit("epochs")
      .key("step_epochs", IntegerListType{&o.step_epochs, 1, 1'000'000, 0, 64},
           "Epochs after which the rate drops.")
      .unit("epochs")
      .only_when(has_steps, "optim.schedule")
      .key("step_gamma", number_inside(o.step_gamma, 0, 1), "Factor of each drop.")
      .only_when(has_steps, "optim.schedule")
      .key("final_lr_fraction", number(o.final_lr_fraction, 0, 1), "Last learning rate as a share of lr.")
      .only_when(decays_to_an_end, "optim.schedule");
}

void add_exchange_keys(SectionBuilder& comm, CommConfig& c) {
  using Grouping = CommConfig::Grouping;
  using Schedule = CommConfig::Schedule;
  comm.key("grouping",
           choice(c.grouping, {{"per_tensor", Grouping::PerTensor}, {"bucketed", Grouping::Bucketed}}),
           "One all-reduce per tensor, or per bucket of tensors.")
      .key("schedule", choice(c.schedule, {{"after", Schedule::After}, {"overlapped", Schedule::Overlapped}}),
           "All-reduce after the backward pass, or while it runs.")
      .key("naive", flag(c.naive), "Short for grouping per_tensor and schedule after.")
      .key("first_bucket_mb", number_above(c.first_bucket_mb, 0, 65536),
           "Size of the first bucket: small, to start early.")
      .unit("MiB")
      .key("bucket_mb", number_above(c.bucket_mb, 0, 65536), "Size of the other buckets.")
      .unit("MiB")
      .key("last_bucket_mb", number_above(c.last_bucket_mb, 0, 65536),
           "Size of the last bucket: nothing hides it.")
      .unit("MiB")
      .key(
          "max_ctas", integer(c.max_ctas, 0, 64),
          "GPU thread blocks of a collective, each of which takes a multiprocessor; 0: the library's choice.")
      .unit("blocks")
      .key("register", flag(c.register_gradients),
           "Tell NCCL of the gradient memory beforehand, so that it need not copy; never with link pcie.")
      .key("emulate_ranks", integer(c.emulate_ranks, 2, 1024),
           "How many ranks one GPU stands for with backend emulated.")
      .unit("ranks")
      .key("timeout_s", number(c.timeout_s, 0.001, 1e6), "A collective that takes longer ends the run.")
      .unit("s")
      .key("check_replicas_every", integer(c.check_replicas_every, 0, 1'000'000'000),
           "Compare the weights of all ranks, bit by bit, every so many steps; 0: never.")
      .unit("steps");
}

}  // namespace

void add_train_keys(ConfigSchema& schema, TrainConfig& t) {
  SectionBuilder(schema, "train", "How long, and in which batches.")
      .key("epochs", integer(t.epochs, 1, 1'000'000), "Passes over the data.")
      .key("max_steps", integer(t.max_steps, 0, kManySamples),
           "End after so many optimizer steps; 0: no limit.")
      .unit("steps")
      .key("micro_batch", integer(t.micro_batch, 1, 1 << 20), "Samples of one forward pass on one rank.")
      .unit("samples")
      .key("accumulation", integer(t.accumulation, 0, 1 << 20),
           "Forward passes of one rank per optimizer step; 0: follows from global_batch.")
      .default_note("1, or 0 if global_batch is given")
      .key("global_batch", integer(t.global_batch, 0, kManySamples),
           "Samples per optimizer step on all ranks: micro_batch × ranks × accumulation; 0: follows from "
           "these.")
      .unit("samples")
      .key("recompute",
           choice(t.recompute,
                  {{"none", TrainConfig::Recompute::None}, {"blocks", TrainConfig::Recompute::Blocks}}),
           "blocks: keep only the input of each block, and run its forward pass again in the backward pass. "
           "Less memory, the same bits, more time.")
      .only_when(has_blocks_that_can_run_twice, "model.name")
      .key("label_smoothing", number_below(t.label_smoothing, 0, 1),
           "Share of the target given to all classes.")
      .key("eval_every", integer(t.eval_every, 0, 1'000'000),
           "Evaluate after every so many epochs; 0: never.")
      .unit("epochs")
      .key("log_every", integer(t.log_every, 1, 1'000'000'000), "Steps between two log lines.")
      .unit("steps")
      .key("warmup_steps_excluded", integer(t.warmup_steps_excluded, 0, 1'000'000),
           "First steps that are left out of the timing.")
      .unit("steps");
}

void add_optim_keys(ConfigSchema& schema, OptimConfig& o) {
  SectionBuilder optim(schema, "optim", "How weights are updated.");
  optim
      .key("name", choice(o.name, {{"sgd", OptimConfig::Name::Sgd}, {"adamw", OptimConfig::Name::AdamW}}),
           "Update rule.")
      .default_note("sgd, or adamw for a GPT")
      .key("lr", number_above(o.lr, 0, 1000), "Learning rate after warm-up.")
      .default_note("0.1 (sgd), 0.001 (adamw)")
      .key(
          "lr_reference_batch", integer(o.lr_reference_batch, 0, kManySamples),
          "The global batch that lr is meant for: the rate used is lr × global batch / this; 0: lr as it is.")
      .unit("samples")
      .key("momentum", number_below(o.momentum, 0, 1), "Momentum.")
      .only_when(is_sgd, "optim.name")
      .key("nesterov", flag(o.nesterov), "Nesterov's form of momentum.")
      .only_when(is_sgd, "optim.name")
      .key("beta1", number_below(o.beta1, 0, 1), "Decay of the mean of gradients.")
      .only_when(is_adamw, "optim.name")
      .key("beta2", number_below(o.beta2, 0, 1), "Decay of the mean of squared gradients.")
      .only_when(is_adamw, "optim.name")
      .key("eps", number_above(o.eps, 0, 1), "Added to the root of the mean of squares.")
      .only_when(is_adamw, "optim.name")
      .key("weight_decay", number(o.weight_decay, 0, 100), "Weight decay; decoupled for adamw.")
      .default_note("0.0005 (sgd), 0.1 (adamw)")
      .key("decay_norm_and_bias", flag(o.decay_norm_and_bias), "Decay normalization scales and biases, too.")
      .key("clip_norm", number(o.clip_norm, 0, 1e6), "Scale gradients down to this global norm; 0: off.");
  add_schedule_keys(optim, o);
}

void add_precision_keys(ConfigSchema& schema, PrecisionConfig& p) {
  using Compute = PrecisionConfig::Compute;
  using Reduce = PrecisionConfig::Reduce;
  SectionBuilder(schema, "precision", "Number formats. CPUs compute in fp32.")
      .key("compute",
           choice(p.compute, {{"fp32", Compute::Fp32},
                              {"tf32", Compute::Tf32},
                              {"bf16", Compute::Bf16},
                              {"fp16", Compute::Fp16}}),
           "Format of activations and of the weights used in layers.")
      .key("reduce",
           choice(p.reduce, {{"fp32", Reduce::Fp32}, {"bf16", Reduce::Bf16}, {"fp16", Reduce::Fp16}}),
           "Format of gradients on the wire.");
}

void add_comm_keys(ConfigSchema& schema, CommConfig& c) {
  using Backend = CommConfig::Backend;
  using Link = CommConfig::Link;
  SectionBuilder comm(schema, "comm", "How gradients are exchanged between ranks.");
  comm.key("backend",
           choice(c.backend, {{"auto", Backend::Auto},
                              {"single", Backend::Single},
                              {"mpi", Backend::Mpi},
                              {"ring", Backend::Ring},
                              {"nccl", Backend::Nccl},
                              {"emulated", Backend::Emulated}}),
           "Who does the all-reduce.")
      .key("link",
           choice(c.link, {{"auto", Link::Auto},
                           {"shm", Link::Shm},
                           {"tcp", Link::Tcp},
                           {"net", Link::Net},
                           {"nvlink", Link::NvLink},
                           {"pcie", Link::Pcie}}),
           "The path that gradients shall take.")
      .key("expect",
           choice(c.expect, {{"", Link::Auto},
                             {"shm", Link::Shm},
                             {"tcp", Link::Tcp},
                             {"net", Link::Net},
                             {"nvlink", Link::NvLink},
                             {"pcie", Link::Pcie}}),
           "The path that must be found, else the run fails; \"\": any.")
      .key("pace_gbit", number(c.pace_gbit, 0, 1e5), "Slow the link down to this bandwidth; 0: off.")
      .unit("Gbit/s")
      .key("pace_latency_us", number(c.pace_latency_us, 0, 1e7), "Add this latency to each message; 0: off.")
      .unit("µs");
  add_exchange_keys(comm, c);
}

void add_device_keys(ConfigSchema& schema, RunConfig& c) {
  SectionBuilder(schema, "device", "Where it runs.")
      .key("kind",
           choice(c.device.kind, {{"auto", DeviceConfig::Kind::Auto},
                                  {"cpu", DeviceConfig::Kind::Cpu},
                                  {"cuda", DeviceConfig::Kind::Cuda}}),
           "Device of each rank; auto: a GPU if there is one.")
      .key("deterministic", flag(c.device.deterministic),
           "Only operations that give the same bits in every run.");
  SectionBuilder(schema, "gpu", "For device.kind cuda.")
      .key("share", flag(c.gpu.share), "Let several ranks use one GPU.")
      .key("graph", flag(c.gpu.graph), "Record a step once as a CUDA graph, then replay it.");
}

void add_report_keys(ConfigSchema& schema, ReportConfig& r) {
  using Metrics = ReportConfig::Metrics;
  SectionBuilder(schema, "report", "What a run leaves behind.")
      .key("dir", TextType{&r.dir}, "Folder of all runs.")
      .key("metrics",
           choice(r.metrics,
                  {{"off", Metrics::Off}, {"summary", Metrics::Summary}, {"trace", Metrics::Trace}}),
           "Timing: none, or of every phase, wait and bucket of every step, which metrics.jsonl shows while "
           "the "
           "run goes on; trace also leaves trace.json, which Perfetto opens.")
      .key("trace_steps", integer(r.trace_steps, 1, 1000),
           "Steps in trace.json, from the end of the warm-up on.")
      .unit("steps")
      .only_when(traces, "report.metrics")
      .key("name", TextType{&r.name, true}, "Name of the run in file names and tables.")
      .default_note("the config file's name");
}

void add_measure_keys(ConfigSchema& schema, MeasureConfig& m) {
  SectionBuilder(schema, "measure", "What else is measured, and what turns it into efficiency and money.")
      .key("contention",
           choice(m.contention,
                  {{"off", MeasureConfig::Contention::Off}, {"on", MeasureConfig::Contention::On}}),
           "After training, repeat steps with and without the all-reduce call to see what it costs.")
      .key("control_pairs", integer(m.control_pairs, 1, 1000),
           "Segments of each kind in that control run, in turns.")
      .only_when(has_control_run, "measure.contention")
      .key("control_steps", integer(m.control_steps, 1, 1'000'000), "Steps of each segment.")
      .unit("steps")
      .only_when(has_control_run, "measure.contention")
      .key("peak_tflops", number(m.peak_tflops, 0, 1e6),
           "Most that a rank's device can do in precision.compute, for MFU; 0: from the table of known GPUs.")
      .unit("TFLOP/s")
      .key("price_per_rank_hour", number(m.price_per_rank_hour, 0, 1e6),
           "Price of one rank's device for an hour; 0: none.")
      .unit("currency")
      .key("price_per_kwh", number(m.price_per_kwh, 0, 1e6), "Price of electric energy; 0: none.")
      .unit("currency")
      .key("currency", TextType{&m.currency, true}, "What the prices are in.");
}

}  // namespace tandem

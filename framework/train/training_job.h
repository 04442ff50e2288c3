// A whole run: memory, start-up, epochs, evaluation, and what the record says of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/rank_group.h"
#include "data/batch_source.h"
#include "parallel/bucket_plan.h"
#include "report/run_record.h"
#include "train/control_run.h"
#include "train/energy_meter.h"
#include "train/evaluator.h"
#include "train/memory_need.h"
#include "train/run_recorder.h"
#include "train/startup_clock.h"
#include "train/timeline_recorder.h"
#include "train/trainer.h"

namespace tandem {

struct JobOptions {
  std::uint64_t seed = 1;
  std::int64_t total_steps = 0;
  int eval_every = 1;            // epochs between evaluations; 0: none; the last epoch counts as one
  int log_every = 10;            // steps
  int warmup_steps = 0;          // that statistics leave out
  int check_replicas_every = 0;  // steps; 0: at the end only
  std::size_t prefetch = 2;      // batches ready ahead of the steps in flight
  bool control_run = false;      // one is to follow: its memory counts, too
  DType compute = DType::F32;
  DType reduce = DType::F32;
  Grouping grouping = Grouping::Bucketed;
  BucketLimits buckets;
  Schedule schedule = Schedule::Overlapped;
  OptimizerOptions optimizer;
  TrainerOptions trainer;
};

// What the job runs on and with; all of it outlives the job.
struct JobParts {
  Device& device;
  OpBackend& ops;
  Communicator& communicator;
  RankGroup& group;
  Model& model;
  const Sampler& sampler;  // of training
  const BatchSource& train;
  const Sampler* evaluation_sampler = nullptr;  // null: nothing to evaluate on
  const BatchSource* evaluation = nullptr;
  Allocator* gradient_memory = nullptr;  // of a communication library; null: the device's
  PowerSource* power = nullptr;          // of this rank's device; null: energy is not recorded
  StartupClock* startup = nullptr;  // told of each phase of the constructor and of describe(); may be null
  // Told what the job will take before it takes any; may throw. Null: nobody asks.
  std::function<void(const MemoryNeed&)> before_memory = nullptr;
};

// Where a run stands, for a progress line.
struct JobProgress {
  std::int64_t epoch = 0;  // from 0
  std::int64_t step = 0;   // finished in this epoch
  std::int64_t epoch_steps = 0;
  std::int64_t total_step = 0;          // finished in the run
  double trained_s = 0.0;               // since the run began, without evaluation
  double loss = 0.0;                    // of this rank's last step
  double learning_rate = 0.0;           // likewise
  StepTiming timing;                    // likewise
  std::optional<double> exposed_share;  // of this rank's last step
};

class TrainingJob {
 public:
  // Plans the model and takes all memory. Then all ranks: agree on `facts` and on the layout, take rank 0's
  // parameters.
  TrainingJob(const JobParts& parts, const JobOptions& options, const std::string& facts);
  ~TrainingJob();

  // What is known before the first step: sizes, buckets, standalone bandwidth. All ranks call together.
  void describe(RunRecord& record);

  // Trains to the end; all ranks call together. Fills epochs, timing, losses, energy and results. Calls
  // `progress` after steps, and `finished`, if given, after each epoch.
  void run(RunRecord& record, const std::function<void(const JobProgress&)>& progress,
           const std::function<void(const EpochRecord&)>& finished = {});

  // The control run, after training; see control_run.h. All ranks call together. Fills `control` and leaves
  // parameters, optimizer states and running statistics as they are. Nothing to do where nobody communicates.
  void measure_control(RunRecord& record, const ControlOptions& control);

  const ParameterStore& parameters() const { return store_; }

 private:
  ParameterStore make_store() const;
  MemoryNeed need(const ParameterMemory& parameters) const;
  TrainerParts trainer_parts();
  void run_epoch(std::int64_t epoch, Prefetcher& batches, RunRecord& record,
                 const std::function<void(const JobProgress&)>& progress);
  void evaluate(EpochRecord& epoch, RunRecord& record);
  void finish_phase(const std::string& phase);
  Plan make_plan();
  std::optional<double> joules() const;  // of this rank so far; none where there is no meter
  void record_energy(std::optional<double> begin, std::optional<double> trained, EpochRecord& epoch);
  void gather_energy(RunRecord& record) const;
  void train_steps(std::int64_t first, std::int64_t end, Prefetcher& batches, const StepListener& listener);

  JobParts parts_;
  JobOptions options_;
  std::unique_ptr<Stream> compute_, communication_, copy_;
  Plan plan_;
  ParameterStore store_;
  Buffer arena_;
  Optimizer optimizer_;
  Trainer trainer_;
  std::unique_ptr<Evaluator> evaluator_;
  RunRecorder recorder_;
  TimelineRecorder timelines_;
  double trained_s_ = 0.0;              // in the epochs that are over
  std::unique_ptr<EnergyMeter> meter_;  // while the job runs
  double rank_joules_ = 0.0;            // in the epochs that are over
};

}  // namespace tandem

// The run record: one JSON file that knows everything of a run. Tables and comparisons read only this.
//
// docs/run_record.md documents each field of the file; field names here and there are the same. Plain values,
// no ownership, no threads. In a record, an optional without value was not recorded or does not apply; it is
// never 0. Times ending in _ms are milliseconds, in _s seconds; bytes are bytes, and "gb" is 1e9 bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/bucket_times.h"
#include "report/measurement_records.h"
#include "report/step_timeline_record.h"
#include "report/topology_record.h"

namespace tandem {

struct ProgramRecord {
  std::string version;
  std::string git;  // commit, with "-dirty" when the tree was changed; "unknown" outside of a checkout
  std::string build;
  bool operator==(const ProgramRecord&) const = default;
};

struct HostRecord {
  std::string name;
  std::string processor;
  int cores = 0;
  int ranks = 0;
  bool operator==(const HostRecord&) const = default;
};

struct ModelRecord {
  std::string name;
  std::int64_t parameters = 0;           // without padding
  std::int64_t padding = 0;              // elements
  std::int64_t bytes = 0;                // of the parameters and their padding
  std::optional<double> flops_per_item;  // of forward and backward passes over one image or token
  bool operator==(const ModelRecord&) const = default;
};

struct BatchRecord {
  int micro = 0;  // samples per rank and micro-step
  int accumulation = 0;
  int global = 0;                    // micro * accumulation * world size
  std::string item;                  // what throughput counts: "images" or "tokens"
  std::int64_t steps_per_epoch = 0;  // of a whole one; a run may end within it
  bool operator==(const BatchRecord&) const = default;
};

// A link as latency + bytes / bandwidth.
struct LinkModelRecord {
  double latency_us = 0.0;
  double gbit_per_s = 0.0;
  bool operator==(const LinkModelRecord&) const = default;
};

// One rank stands for `ranks` over a modelled link.
struct EmulatedRecord {
  int ranks = 0;
  LinkModelRecord model;
  bool operator==(const EmulatedRecord&) const = default;
};

// Bytes that the kernel saw peers acknowledge on TCP sockets, beside what the collectives had to send.
struct LinkProofRecord {
  double tcp_bytes = 0.0;
  double expected_bytes = 0.0;
  bool operator==(const LinkProofRecord&) const = default;
};

// What NCCL's own log says beside the transports.
struct NcclRecord {
  std::string peers;      // what joins the GPUs of a host: "nvlink", "pcie", "none" or "unknown"
  int channels = 0;       // of collectives; 0: not logged
  std::string algorithm;  // of the largest all-reduce, such as "RING"; empty: not logged
  std::string protocol;   // of the same, such as "SIMPLE"
  bool operator==(const NcclRecord&) const = default;
};

struct LinkRecord {
  std::string asked;
  std::string description;
  std::string transport_found;
  std::optional<LinkProofRecord> proof;
  std::optional<NcclRecord> nccl;
  std::optional<LinkModelRecord> paced;
  std::optional<EmulatedRecord> emulated;
  std::optional<double> bus_gb_per_s_standalone;  // all-reduce of the model's bytes with nothing else running
  bool operator==(const LinkRecord&) const = default;
};

struct ReductionRecord {
  std::string grouping;      // "per_tensor" or "bucketed"
  std::string schedule;      // "after" or "overlapped"
  std::string update_order;  // "streamed" or "gated"
  bool operator==(const ReductionRecord&) const = default;
};

struct BucketRecord {
  int index = 0;
  std::int64_t bytes = 0;
  std::string first_parameter;
  std::string last_parameter;
  int parameters = 0;
  bool operator==(const BucketRecord&) const = default;
};

struct LearningRateRecord {
  double effective = 0.0;
  std::string formula;
  bool operator==(const LearningRateRecord&) const = default;
};

struct LossRecord {
  std::int64_t step = 0;
  double loss = 0.0;
  bool operator==(const LossRecord&) const = default;
};

struct EpochRecord {
  int epoch = 0;
  std::int64_t first_step = 0;
  std::int64_t steps = 0;
  double wall_s = 0.0;  // max over ranks, from barrier to barrier; includes eval_s and checkpoint_s
  double eval_s = 0.0;  // 0: there was no evaluation
  double checkpoint_s = 0.0;
  std::int64_t items = 0;  // images or tokens trained on, over all ranks
  std::optional<double> train_loss;
  std::optional<double> eval_loss;
  std::optional<double> eval_accuracy;
  std::optional<double> energy_j;           // of all ranks' devices over wall_s
  std::optional<double> training_energy_j;  // the part of it outside evaluation and checkpoints
  bool operator==(const EpochRecord&) const = default;
};

struct ResultsRecord {
  std::int64_t correct = 0;
  std::int64_t total = 0;
  std::optional<double> eval_loss;
  bool operator==(const ResultsRecord&) const = default;
};

struct RunRecord {
  static constexpr const char* kSchema = "tandem.run/3";

  std::string name;
  std::string started;  // UTC, see utc_timestamp()
  std::string command_line;
  ProgramRecord program;
  std::string config;  // the resolved config as YAML text
  std::vector<HostRecord> hosts;
  std::vector<HostTopologyRecord> topology;        // by host; empty if a host does not tell
  std::map<std::string, std::string> versions;     // compiler, MPI header and library, Eigen, …
  std::map<std::string, std::string> environment;  // the NCCL_* variables that the ranks ran with
  int world_size = 1;
  ModelRecord model;
  BatchRecord batch;
  LinkRecord link;
  ReductionRecord reduction;
  std::vector<std::string> recomputed;  // blocks whose forward pass runs again, in the order of backward
  std::vector<BucketRecord> buckets;
  LearningRateRecord learning_rate;
  std::vector<StartupPhaseRecord> startup;  // from the program's start to the first step's, without gaps
  std::optional<double> graph_capture_ms;   // within the first steps, on the rank that took longest
  int warmup_steps = 0;                     // the first ones, which no statistic counts
  std::vector<RankTimingRecord> timing;     // by rank; empty if timing was off
  std::optional<BucketTimes> bucket_times;
  std::vector<StepTimelineRecord> timelines;  // of a few steps; empty if timing was off
  std::optional<ControlRecord> control;
  std::optional<PeakRecord> peak;
  std::optional<EnergyRecord> energy;
  std::optional<PricesRecord> prices;
  std::vector<LossRecord> losses;
  std::vector<EpochRecord> epochs;
  std::optional<ResultsRecord> results;
  std::optional<std::string> parameter_hash;  // of all parameter bits after training, in hex
  bool not_training = false;  // communication was skipped: times are real, the weights are worthless
  std::vector<std::string> notes;
  bool operator==(const RunRecord&) const = default;
};

std::string to_json(const RunRecord& record);

// Strict: throws InputError naming `file` and the JSON path for text that is not JSON, another schema, a
// missing, unknown or mistyped field, and for fields that contradict each other.
RunRecord run_record_from_json(std::string_view text, const std::string& file);

RunRecord read_run_record(const std::filesystem::path& path);
void write_run_record(const RunRecord& record, const std::filesystem::path& path);  // atomically

std::string utc_timestamp(std::chrono::system_clock::time_point time);  // "2025-03-01T12:34:56Z"

}  // namespace tandem

// From the time stamps of one step on one rank to the quantities that every table prints.
//
// This is the only place where stamps become "forward", "exposed", "busy" and so on; docs/measuring.md says
// the same in words. Pure functions: no clock, no device, no state. Times are milliseconds; the zero of the
// stamps is the caller's, and is the same for all stamps of one step.
#pragma once

#include <optional>
#include <vector>

namespace tandem {

// A stretch of one stream. A stamp that was not recorded has no value.
struct StampPair {
  std::optional<double> begin_ms;
  std::optional<double> end_ms;
};

// What a timeline records of step s. Letters are those of docs/measuring.md. All stamps but `buckets` are
// taken on the compute stream, in the order of the members up to next_begin_ms. An empty list says that there
// were no such stretches, which is a measurement; a pair without stamps says that nobody looked.
struct StepStamps {
  std::optional<double> begin_ms;  // S0: before the step waits for its batch
  std::optional<double>
      data_ready_ms;  // D:  the batch has arrived (left out: the wait for data counts as forward)
  std::optional<double> forward_end_ms;  // F:  after the loss
  std::optional<double>
      backward_end_ms;                  // B:  after the last backward kernel, before any wait that follows it
  std::optional<double> end_ms;         // E:  after the last optimizer kernel
  std::optional<double> next_begin_ms;  // S0 of step s + 1; after the last step of an epoch, the loop's end

  std::vector<StampPair> waits;                         // (W, V): waits for the communication stream
  std::vector<StampPair> compute_stream_communication;  // collectives that the compute stream runs itself
  std::vector<StampPair> recomputes;  // of blocks whose forward pass ran again within backward; empty where
                                      // the run recomputes nothing: then the quantity does not apply
  std::vector<StampPair> buckets;     // (A, Z) of each bucket on the communication stream, by bucket index
};

// The parts are disjoint: forward, backward and optimizer do not contain exposed communication that lies
// inside them, so data_wait + forward + backward + exposed + optimizer + other is the step.
struct StepTiming {
  std::optional<double> step_ms;                  // S0 -> S0 of the next step
  std::optional<double> data_wait_ms;             // S0 -> D
  std::optional<double> forward_ms;               // D (or S0) -> F, less exposed
  std::optional<double> backward_ms;              // F -> B, less exposed
  std::optional<double> recompute_ms;             // the part of backward_ms that computes activations anew
  std::optional<double> comm_busy_ms;             // length of the union of the bucket intervals
  std::optional<double> exposed_ms;               // waits + communication on the compute stream
  std::optional<double> exposed_buckets_ms;       // the waits alone
  std::optional<double> optimizer_ms;             // B -> E, less exposed
  std::optional<double> other_ms;                 // E -> S0 of the next step
  std::vector<std::optional<double>> buckets_ms;  // Z - A of each bucket
  std::vector<std::optional<double>> waits_ms;    // V - W of each wait; with one wait per bucket, by bucket
};

// A quantity any of whose stamps is missing has no value. Throws Error if a stretch ends before it begins or
// a stamp is not finite: then the meter itself is wrong, and no number of it may be shown.
StepTiming measure_step(const StepStamps& stamps);

// The union of the stretches; none if any stamp is missing, 0 if there are no stretches.
std::optional<double> union_length_ms(const std::vector<StampPair>& stretches);

// 1 - exposed_buckets / busy, clamped to [0, 1]; none if the communication stream was never busy. The share
// of communication that was hidden behind compute.
std::optional<double> overlap_ratio(std::optional<double> exposed_buckets_ms, std::optional<double> busy_ms);

// Parts must add up to the total within this share of it; what is missing (or counted twice) is shown as
// such.
inline constexpr double kClosingTolerance = 0.02;

// (total - parts) / total: positive when time is missing, negative when it is counted twice.
std::optional<double> unaccounted_share(double parts, double total);

// The bandwidth that each rank's port must have carried in an all-reduce that sends the fewest bytes possible
// (2 (n - 1) / n per byte reduced), as nccl-tests' PERFORMANCE.md defines "busbw"; in 1e9 bytes per second.
// None for one rank or when no time was spent.
std::optional<double> all_reduce_bus_gb_per_s(double bytes, int ranks, double wire_ms);

// Throughput of `ranks` over `ranks` times the throughput of one, with the same batch per rank.
double weak_efficiency(double throughput_of_all, double throughput_of_one, int ranks);
// Throughput of many ranks over the throughput of one, with the same global batch.
double strong_speedup(double throughput_of_all, double throughput_of_one);

}  // namespace tandem

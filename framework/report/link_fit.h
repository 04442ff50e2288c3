// The line t = latency + bytes / bandwidth through the all-reduces of a run. Pure functions.
//
// The all-reduce of b bytes over n ranks moves at least b · 2 (n − 1) / n through each rank's port, so with
// the latency α and the port's bandwidth β it takes α + b · 2 (n − 1) / (n β) (the "alpha-beta model";
// Thakur, Rabenseifner, Gropp, Optimization of Collective Communication Operations in MPICH, 2005). α and 1/β
// come from least squares over the buckets of a run, which is a fit of what training saw and not of the link
// alone: contention and scheduling are in it.
#pragma once

#include <optional>
#include <vector>

namespace tandem {

struct AllReduceTime {
  double bytes = 0.0;
  double wire_ms = 0.0;
  bool operator==(const AllReduceTime&) const = default;
};

// A line that explains less of the times is no line: then its latency and bandwidth are those of nothing.
inline constexpr double kTrustedFit = 0.9;

struct LinkFit {
  double latency_ms = 0.0;
  double bus_gb_per_s = 0.0;  // what a message without end would reach
  double r_squared = 0.0;     // share of the variance of the times that the line explains

  bool is_trusted() const { return r_squared >= kTrustedFit; }
  bool operator==(const LinkFit&) const = default;
};

// None for one rank, if the largest all-reduce has less than four times the bytes of the smallest (latency
// and bandwidth cannot be told apart then), and if the line would have a latency below 0 or no bandwidth.
std::optional<LinkFit> fit_link(const std::vector<AllReduceTime>& times, int ranks);

// By the model, in 1e9 bytes per second; as all_reduce_bus_gb_per_s() of a measured time.
double fitted_bus_gb_per_s(const LinkFit& fit, double bytes, int ranks);

}  // namespace tandem

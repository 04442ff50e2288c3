// Which transport really carried the bytes of CPU ranks, from the kernel's own counters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "comm/rank_group.h"

namespace tandem {

// What the kernel knows about this process at one moment.
struct TransportSnapshot {
  // Bytes that peers have acknowledged (tcpi_bytes_acked), by inode of each connected TCP socket of this
  // process.
  std::map<std::uint64_t, std::uint64_t> acked_bytes;
  // Whether memory that an MPI shares between processes is mapped (/proc/self/maps).
  bool shared_segments = false;
};

// Reads /proc/self; may be called on any thread, at any time after MPI has started.
TransportSnapshot snapshot_transport();

// Bytes acknowledged between two snapshots; sockets that were opened in between count whole.
double acked_between(const TransportSnapshot& before, const TransportSnapshot& after);

inline constexpr std::string_view kTransportUnknown = "unknown";

struct TransportProof {
  // "tcp", "shm", "mixed"; "none" for one rank; "unknown" if too few bytes were expected to tell (less than 1
  // MB), or if neither sockets nor shared memory account for them (a network that bypasses the kernel).
  std::string transport_found;
  double tcp_bytes = 0.0;  // acknowledged, summed over ranks
  double expected_wire_bytes =
      0.0;  // FlightRecorder::expected_wire_bytes() over the same time, summed over ranks
};

// The rule. Sockets carry at least what the collectives need if they carry anything, and beside shared memory
// only start-up messages: tcp from half of the expected bytes, mixed from a twentieth, below that shm if
// segments are shared on all ranks.
std::string_view judge_transport(double tcp_bytes, double expected_wire_bytes, bool shared_segments);

// What one rank saw over a run.
struct TransportEvidence {
  TransportSnapshot before;
  TransportSnapshot after;
  double expected_wire_bytes = 0.0;
};

// The job's proof, the same on all ranks, which all call it.
TransportProof prove_transport(RankGroup& ranks, const TransportEvidence& mine);

}  // namespace tandem

// What a collective costs on a link: bytes on the wire, and time on an alpha-beta line.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace tandem {

// HostExchange is any call of a RankGroup: small and outside steps, so it counts no wire bytes.
enum class CollectiveKind : std::uint8_t { AllReduce, ReduceScatter, AllGather, Broadcast, HostExchange };

std::string_view name_of(CollectiveKind kind);  // "all_reduce", …

// Bytes that a rank sends, averaged over ranks, when n ranks run the collective on a tensor of S bytes with
// the least traffic: all-reduce 2(n-1)/n S; reduce-scatter, all-gather and broadcast (n-1)/n S each. A
// reduction to one rank followed by a broadcast sends the same bytes, only less evenly; an algorithm never
// sends fewer.
double wire_bytes_per_rank(CollectiveKind kind, ByteCount tensor, int world_size);

// A link as alpha (latency of one collective) and beta (bus bandwidth, in the sense of nccl-tests'
// PERFORMANCE.md).
struct LinkModel {
  double latency_us = 0.0;
  double bus_gbit_per_s = 1.0;
};

// How long the collective takes from the moment at which the last rank has reached it:
//   all-reduce                  latency + 2(n-1)/n S / bandwidth
//   reduce-scatter, all-gather  half of that, since one follows the other in an all-reduce
//   broadcast                   latency + S / bandwidth: every receiver must take in all S bytes
// Zero for one rank. REQUIRES a positive bandwidth.
std::chrono::nanoseconds modelled_time(const LinkModel& link, CollectiveKind kind, ByteCount tensor,
                                       int world_size);

std::string describe(const LinkModel& link);  // "1 Gbit/s, 50 us"

}  // namespace tandem

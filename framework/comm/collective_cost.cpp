#include "comm/collective_cost.h"

#include "core/error.h"

namespace tandem {

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      return "all_reduce";
    case CollectiveKind::ReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::AllGather:
      return "all_gather";
    case CollectiveKind::Broadcast:
      return "broadcast";
    case CollectiveKind::HostExchange:
      return "host exchange";
  }
  return "unknown collective";
}

double wire_bytes_per_rank(CollectiveKind kind, ByteCount tensor, int world_size) {
  const double ranks = world_size;
  const double once = (ranks - 1.0) / ranks * static_cast<double>(tensor.value());
  switch (kind) {
    case CollectiveKind::AllReduce:
      return 2.0 * once;
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllGather:
    case CollectiveKind::Broadcast:
      return once;
    case CollectiveKind::HostExchange:
      return 0.0;
  }
  return 0.0;
}

std::chrono::nanoseconds modelled_time(const LinkModel& link, CollectiveKind kind, ByteCount tensor,
                                       int world_size) {
  TANDEM_EXPECT(link.bus_gbit_per_s > 0.0, "a link needs a bandwidth above 0, got {} Gbit/s",
                link.bus_gbit_per_s);
  if (world_size == 1 || kind == CollectiveKind::HostExchange) return {};
  const bool one_way = kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::AllGather;
  const double bytes = kind == CollectiveKind::Broadcast ? static_cast<double>(tensor.value())
                                                         : wire_bytes_per_rank(kind, tensor, world_size);
  const double latency_ns = link.latency_us * 1e3 * (one_way ? 0.5 : 1.0);
  const double wire_ns = bytes * 8.0 / link.bus_gbit_per_s;  // 1 Gbit/s is 1 bit/ns
  return std::chrono::nanoseconds(static_cast<std::int64_t>(latency_ns + wire_ns));
}

std::string describe(const LinkModel& link) {
  return fmt::format("{:g} Gbit/s, {:g} us", link.bus_gbit_per_s, link.latency_us);
}

}  // namespace tandem

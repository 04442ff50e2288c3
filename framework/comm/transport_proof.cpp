#include "comm/transport_proof.h"

#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <memory>
#include <vector>

namespace tandem {
namespace {

constexpr double kFewestBytes = 1e6;
constexpr double kTcpFrom = 0.5;
constexpr double kMixedFrom = 0.05;

// Descriptors of this process. Listing them opens one more, which is closed again by the time they are looked
// at.
std::vector<int> open_descriptors() {
  std::vector<int> descriptors;
  const std::unique_ptr<DIR, decltype([](DIR* directory) { closedir(directory); })> directory(
      opendir("/proc/self/fd"));
  if (!directory) return descriptors;
  while (const auto* entry = readdir(directory.get())) {
    const std::string_view name(entry->d_name);
    int descriptor = -1;
    if (std::from_chars(name.data(), name.data() + name.size(), descriptor).ec == std::errc()) {
      descriptors.push_back(descriptor);
    }
  }
  return descriptors;
}

void add_acked_bytes(int descriptor, std::map<std::uint64_t, std::uint64_t>& acked_bytes) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  tcp_info info{};
  socklen_t filled = sizeof(info);
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &filled) != 0) return;  // not a TCP socket
  if (filled < offsetof(tcp_info, tcpi_bytes_acked) + sizeof(info.tcpi_bytes_acked))
    return;  // before Linux 4.1
  sockaddr_storage peer{};
  socklen_t peer_bytes = sizeof(peer);
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &peer_bytes) != 0) return;  // listening
  acked_bytes[status.st_ino] = info.tcpi_bytes_acked;
}

// Segments of Open MPI's vader and sm, and of UCX.
bool maps_shared_segments() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    for (const auto* name : {"/vader_segment", "/sm_segment", "/ucx_shm"}) {
      if (line.find(name) != std::string::npos) return true;
    }
  }
  return false;
}

}  // namespace

TransportSnapshot snapshot_transport() {
  TransportSnapshot snapshot;
  for (const int descriptor : open_descriptors()) add_acked_bytes(descriptor, snapshot.acked_bytes);
  snapshot.shared_segments = maps_shared_segments();
  return snapshot;
}

double acked_between(const TransportSnapshot& before, const TransportSnapshot& after) {
  double total = 0.0;
  for (const auto& [inode, bytes] : after.acked_bytes) {
    const auto found = before.acked_bytes.find(inode);
    // An inode number may come again for another socket, whose count then starts at 0.
    const auto earlier = found == before.acked_bytes.end() || found->second > bytes ? 0 : found->second;
    total += static_cast<double>(bytes - earlier);
  }
  return total;
}

std::string_view judge_transport(double tcp_bytes, double expected_wire_bytes, bool shared_segments) {
  if (expected_wire_bytes < kFewestBytes) return kTransportUnknown;
  const double share = tcp_bytes / expected_wire_bytes;
  if (share >= kTcpFrom) return "tcp";
  if (share >= kMixedFrom) return "mixed";
  return shared_segments ? "shm" : kTransportUnknown;
}

TransportProof prove_transport(RankGroup& ranks, const TransportEvidence& mine) {
  const std::array values{acked_between(mine.before, mine.after), mine.expected_wire_bytes,
                          mine.after.shared_segments ? 1.0 : 0.0};
  const auto sums = ranks.sum(values);
  if (ranks.world_size() == 1) return {"none", sums[0], sums[1]};
  const bool all_share = sums[2] == static_cast<double>(ranks.world_size());
  return {std::string(judge_transport(sums[0], sums[1], all_share)), sums[0], sums[1]};
}

}  // namespace tandem

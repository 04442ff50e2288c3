#include "trainer/link_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "comm/nccl_log.h"
#include "core/error.h"

namespace tandem {
namespace {

constexpr std::size_t kMostWarnings = 5;

LinkVerdict prove_mpi(const RunConfig& config, Comm& comm, const TransportSnapshot& before,
                      RunRecord& record) {
  const auto proof =
      prove_transport(comm.ranks(), {.before = before,
                                     .after = snapshot_transport(),
                                     .expected_wire_bytes = comm.recorder().expected_wire_bytes()});
  record.link.transport_found = proof.transport_found;
  if (record.world_size > 1) {
    record.link.proof =
        LinkProofRecord{.tcp_bytes = proof.tcp_bytes, .expected_bytes = proof.expected_wire_bytes};
  }
  const auto expected = config_value(config, "comm.expect");
  LinkVerdict verdict{.certain = proof.transport_found != kTransportUnknown};
  if (config.comm.expect == CommConfig::Link::Auto || expected == proof.transport_found) return verdict;
  verdict.unexpected =
      record.world_size == 1
          ? fmt::format("{}: one rank sends nothing", proof.transport_found)
          : fmt::format("{} ({:.0f} bytes acknowledged on TCP sockets of {:.0f} on the wire)",
                        proof.transport_found, proof.tcp_bytes, proof.expected_wire_bytes);
  return verdict;
}

std::vector<NcclLog> gather_logs(const NcclJob& nccl, RankGroup& group) {
  std::ifstream file(nccl.log_file);
  TANDEM_EXPECT(file.is_open(), "NCCL left no log in {}: is the directory writable?", nccl.log_file.string());
  std::vector<NcclLog> logs;
  for (const auto& text : group.all_gather(to_text(parse_nccl_log(file)))) {
    logs.push_back(nccl_log_from_text(text));
  }
  return logs;
}

LinkVerdict prove_nccl(const RunConfig& config, Comm& comm, const NcclJob& nccl, RunRecord& record) {
  const auto logs = gather_logs(nccl, comm.ranks());
  record.link.transport_found = describe_transports(logs);
  record.link.nccl = NcclRecord{.peers = name_of(nccl.peers),
                                .channels = logs[0].channels,
                                .algorithm = logs[0].algorithm,
                                .protocol = logs[0].protocol};
  record.notes.clear();
  for (std::size_t rank = 0; rank < logs.size(); ++rank) {
    const auto& warnings = logs[rank].warnings;
    for (std::size_t i = 0; i < std::min(warnings.size(), kMostWarnings); ++i) {
      record.notes.push_back(fmt::format("NCCL warned on rank {}: {}", rank, warnings[i]));
    }
  }
  if (fulfils(nccl_wish_of(config.comm.expect, "comm.expect"), nccl.peers, logs)) return {};
  return {.unexpected =
              fmt::format("{}, with peers joined by: {} (NCCL's log: {})", record.link.transport_found,
                          name_of(nccl.peers), nccl.log_file.string())};
}

}  // namespace

LinkVerdict prove_link(const RunConfig& config, Comm& comm, const LinkEvidence& evidence, RunRecord& record) {
  if (evidence.emulated) {
    record.link.transport_found = "emulated";
    if (config.comm.expect == CommConfig::Link::Auto) return {};
    return {.unexpected = "an emulated link, which proves nothing"};
  }
  return evidence.nccl ? prove_nccl(config, comm, *evidence.nccl, record)
                       : prove_mpi(config, comm, evidence.before, record);
}

void expect_link(const RunConfig& config, const LinkVerdict& verdict) {
  if (verdict.unexpected.empty()) return;
  throw InputError({.what = "the bytes did not take the link that was expected",
                    .where = "comm.expect",
                    .expected = config_value(config, "comm.expect"),
                    .found = verdict.unexpected,
                    .advice = "set comm.link to that link, or take comm.expect out"});
}

}  // namespace tandem

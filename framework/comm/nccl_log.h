// Which transport NCCL really took, read from its own log.
#pragma once

#include <istream>
#include <map>
#include <string>
#include <vector>

#include "comm/nccl_link.h"

namespace tandem {

// What a log of NCCL_DEBUG=INFO says of one rank's connections. "P2P/direct pointer/read" counts as
// "P2P/direct pointer", "NET/Socket/0/Shared" as "NET/Socket": what follows is the direction of a copy or the
// number of a device.
struct NcclLog {
  std::map<std::string, int> transports;  // how many connections of each: "P2P/CUMEM" -> 48
  int channels = 0;                       // for collectives; 0: not logged
  // How the largest collective ran, "RING" and "SIMPLE"; empty if not logged. Only rank 0 logs it.
  std::string algorithm;
  std::string protocol;
  std::vector<std::string> warnings;  // NCCL's own, without the prefix of the line

  bool operator==(const NcclLog&) const = default;
};

// Never fails: lines that say nothing of the above are skipped. The formats are those of NCCL 2.20 to 2.29
// (src/transport/{p2p,shm,net}.cc, src/init.cc, src/enqueue.cc).
NcclLog parse_nccl_log(std::istream& text);

// One fact a line, for sending between ranks; the second reads what the first wrote.
std::string to_text(const NcclLog& log);
NcclLog nccl_log_from_text(const std::string& text);

// What all ranks' connections used, most frequent first and joined by " + ": "P2P/CUMEM", "SHM/direct/direct
// + NET/Socket". "none" for one rank, "unknown" if no connection was logged.
std::string describe_transports(const std::vector<NcclLog>& ranks);

// Whether the transports found on all ranks are those of the wish: nvlink only "P2P/…" over NVLink, pcie only
// "SHM/…", or "P2P/…" where peers are joined by PCIe, net only "NET/…". Auto: anything.
bool fulfils(NcclLinkWish wish, PeerPath peers, const std::vector<NcclLog>& ranks);

}  // namespace tandem

// Which of NCCL's transports carries the bytes of GPU ranks, decided before NCCL starts.
#pragma once

#include <string>
#include <string_view>

#include "comm/link.h"

namespace tandem {

enum class NcclLinkWish { Auto, NvLink, Pcie, Net };

// What joins the GPUs of this host directly, if anything does.
enum class PeerPath {
  Unknown,  // one GPU only, or the driver does not tell
  None,     // no peer access: everything goes through host memory
  Pcie,     // peer access over PCIe
  NvLink,
};

// What the choice depends on. The caller finds it out; choosing reads nothing else.
struct NcclSite {
  PeerPath peers = PeerPath::Unknown;
  bool one_host = true;
  std::string log_file;  // where this rank's NCCL shall write its log; its directory exists
  // Whether the log names algorithm and protocol. NCCL then writes a line for every collective that is
  // enqueued, which costs little where steps are recorded once and replayed.
  bool log_algorithms = false;
};

// The NCCL_* variables to set before NCCL starts so that `wish` comes true, and its log that proves it
// (comm/nccl_log.h). NCCL's environment variables are documented in its user guide, "Environment Variables".
//   auto    NCCL's own choice
//   nvlink  peer access over NVLink: nothing is switched off
//   pcie    GPUs with NVLink or without peer access: through host memory; with PCIe peer access: that.
//           Registered windows are off, since they ignore the switch that turns peer access off.
//   net     sockets or InfiniBand even between GPUs of one host
// NVLink multicast is off unless the user's NCCL_NVLS_ENABLE says otherwise: it sums in another order.
// `users` is the environment the program was started with. Throws InputError if one of its NCCL_* variables
// would have to be overridden (naming both), or if the wish cannot come true between these GPUs.
Environment choose_nccl_link(NcclLinkWish wish, const NcclSite& site, const Environment& users);

// The NCCL_* variables among all.
Environment nccl_variables(const Environment& variables);

}  // namespace tandem

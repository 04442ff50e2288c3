// Which transport carries the bytes, and is it the one that was expected?
#pragma once

#include <optional>
#include <string>

#include "comm/comm_setup.h"
#include "comm/transport_proof.h"
#include "report/run_record.h"
#include "run_config/run_config.h"
#include "trainer/gpu_ranks.h"

namespace tandem {

// What the ranks' own transport was before the first collective.
struct LinkEvidence {
  TransportSnapshot before;     // of MPI's sockets and segments
  std::optional<NcclJob> nccl;  // where NCCL carries the gradients
  bool emulated = false;        // where nothing does
};

struct LinkVerdict {
  bool certain = true;     // false: too few bytes have moved to tell
  std::string unexpected;  // what was found where comm.expect asks for another link; else empty
};

// Fills what the record says of the link, from the bytes moved so far. All ranks call together, and may
// again.
LinkVerdict prove_link(const RunConfig& config, Comm& comm, const LinkEvidence& evidence, RunRecord& record);

// Throws InputError, on every rank, for a verdict that names something unexpected.
void expect_link(const RunConfig& config, const LinkVerdict& verdict);

}  // namespace tandem

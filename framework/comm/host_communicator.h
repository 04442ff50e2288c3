// The Communicator of CPU ranks: puts an algorithm's jobs into stream order.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/host_collectives.h"

namespace tandem {

// Takes CPU streams. A collective is a closure on the stream that hands a job to the worker and blocks the
// stream's thread until it is done. The worker outlives the communicator, and both outlive the enqueued work.
std::unique_ptr<Communicator> make_host_communicator(MpiWorker& worker,
                                                     std::unique_ptr<HostCollectives> algorithm);

}  // namespace tandem

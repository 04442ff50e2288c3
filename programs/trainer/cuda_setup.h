// The part of device_setup that needs CUDA.
#pragma once

#include <map>
#include <string>

#include "comm/nccl_link.h"
#include "trainer/device_setup.h"

namespace tandem {

// "" if there is a GPU; else why there is none.
std::string why_no_gpu();
int visible_gpus();
// What joins the visible GPUs, by the pair that is joined worst.
PeerPath gpu_peer_path();
ComputeDevice make_cuda_compute_device(const RunConfig& config, const RankEnvironment& job, Comm& comm,
                                       StartupClock& startup);
std::map<std::string, std::string> cuda_versions();

}  // namespace tandem

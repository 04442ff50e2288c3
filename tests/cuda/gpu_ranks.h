// What joins the GPU ranks of a test program. Two are linked in, one each: ranks that share GPU 0 and
// exchange through host memory (shared_gpu_ranks.cpp), and ranks with a GPU each over NCCL (nccl_ranks.cpp).
#pragma once

#include <memory>
#include <string>

#include "comm/comm_setup.h"
#include "device/cuda/cuda_device.h"

namespace tandem {

// Why this machine cannot run so many of them; "" if it can.
std::string reason_against_gpu_ranks(int world_size);

// Whether a CUDA graph may hold their collectives.
bool gpu_ranks_can_be_captured();

std::unique_ptr<CudaDevice> device_of_gpu_rank(int rank, bool graphs);

// Made by all ranks together.
std::unique_ptr<Communicator> join_gpu_ranks(CudaDevice& device, Comm& comm);

}  // namespace tandem

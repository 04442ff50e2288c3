// One GPU that stands for many: collectives that take a modelled link's time and leave the values as they
// are.
#pragma once

#include <memory>
#include <string>

#include "comm/collective_cost.h"
#include "comm/communicator.h"
#include "device/cuda/cuda_device.h"

namespace tandem {

enum class EmulatedPath {
  Peer,        // the bytes are read and written in the GPU's memory, as ring steps over peer access do
  HostStaged,  // half of them cross PCIe to pinned host memory and half come back, as without peer access
};

struct EmulatedLink {
  std::string name;  // "nvlink", "pcie"
  int ranks = 2;     // that this one stands for
  LinkModel model;   // latency and bus bandwidth
  EmulatedPath path = EmulatedPath::Peer;
  int ctas = 8;  // blocks of the kernel, each of which keeps a multiprocessor to itself, as NCCL's do
};

// The link between two H200s as measured with nccl-tests (bf16 all-reduce, 8 bytes to 512 MB): NVLink 317
// GB/s and 15 us over 16 blocks or more, staged through host memory 28.7 GB/s and 16 us over 4. More ranks
// add the latency of a hop for each of a ring's further steps, as NCCL's own tuner does (2.28.9, ring, LL
// protocol).
EmulatedLink measured_link(EmulatedPath path, int ranks);

// rank() is 0 and world_size() the emulated number. An all-reduce of S bytes becomes one kernel that lasts
// latency + 2 (n-1)/n S / bandwidth, moving the bytes of a ring step by step: each chunk is moved and then
// waited for until its share of the time has passed, so the memory traffic is spread as a link spreads it.
// What it cannot show: waiting for peers. Contention with compute has not been compared with NCCL's own.
// description(): "emulated link: nvlink, 8 ranks, …".
std::unique_ptr<Communicator> make_emulated_communicator(CudaDevice& device, const EmulatedLink& link);

}  // namespace tandem

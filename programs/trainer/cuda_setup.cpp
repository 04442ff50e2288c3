#include "trainer/cuda_setup.h"

#include <cuda_runtime.h>
#include <cudnn.h>

#include "comm/cuda/emulated_communicator.h"
#include "comm/cuda/nccl_communicator.h"
#include "comm/cuda/staged_communicator.h"
#include "core/error.h"
#include "device/cuda/cuda_check.h"
#include "device/cuda/cuda_device.h"
#include "machine/nvml_power.h"
#include "ops/cuda/cuda_backend.h"
#include "trainer/job_setup.h"

namespace tandem {
namespace {

// Where found plans are kept between runs: beside the run directories, since both belong to a machine.
std::string plan_cache_path(const RunConfig& config) {
  return config.report.dir + "/cuda_plans.json";
}

DType weight_gradient_dtype(const RunConfig& config) {
  if (config.train.accumulation != 1) return DType::F32;
  switch (config.precision.reduce) {
    case PrecisionConfig::Reduce::Fp32:
      return DType::F32;
    case PrecisionConfig::Reduce::Bf16:
      return DType::BF16;
    case PrecisionConfig::Reduce::Fp16:
      return DType::F16;
  }
  return DType::F32;
}

int device_ordinal(const RunConfig& config, const RankEnvironment& job) {
  return config.gpu.share ? job.local_rank % visible_gpus() : job.local_rank;
}

EmulatedLink emulated_link(const CommConfig& comm) {
  const bool pcie = comm.link == CommConfig::Link::Pcie;
  auto link = measured_link(pcie ? EmulatedPath::HostStaged : EmulatedPath::Peer, comm.emulate_ranks);
  if (comm.max_ctas > 0) link.ctas = comm.max_ctas;
  if (comm.pace_gbit > 0) link.model = {.latency_us = comm.pace_latency_us, .bus_gbit_per_s = comm.pace_gbit};
  return link;
}

void join_devices(const RunConfig& config, CudaDevice& device, Comm& comm, ComputeDevice& made) {
  switch (config.comm.backend) {
    case CommConfig::Backend::Auto:  // one rank: resolve_for_gpus() has chosen for several
    case CommConfig::Backend::Single:
      return;
    case CommConfig::Backend::Emulated: {
      const auto link = emulated_link(config.comm);
      made.communicator = make_emulated_communicator(device, link);
      made.emulated = EmulatedRecord{
          .ranks = link.ranks,
          .model = {.latency_us = link.model.latency_us, .gbit_per_s = link.model.bus_gbit_per_s}};
      return;
    }
    case CommConfig::Backend::Nccl: {
      auto ranks = make_nccl_ranks(device, comm.ranks(), comm.watchdog(),
                                   {.max_ctas = config.comm.max_ctas,
                                    .timeout = comm_options(config.comm).watchdog.timeout,
                                    .register_memory = config.comm.register_gradients});
      made.communicator = std::move(ranks.communicator);
      made.gradient_memory = std::move(ranks.gradient_memory);
      return;
    }
    case CommConfig::Backend::Mpi:
    case CommConfig::Backend::Ring:
      if (comm.ranks().world_size() == 1) return;
      made.communicator = make_staged_communicator(device, comm, comm_options(config.comm).backend);
      return;
  }
}

}  // namespace

std::string why_no_gpu() {
  const auto available = CudaDevice::availability();
  return available.devices > 0 ? "" : available.reason;
}

int visible_gpus() {
  return CudaDevice::availability().devices;
}

// Atomic operations of one GPU on another's memory are native over NVLink and not over PCIe, which tells the
// two apart without NVML. (CUDA Runtime API, cudaDevP2PAttrNativeAtomicSupported.)
PeerPath gpu_peer_path() {
  const int gpus = visible_gpus();
  auto worst = gpus > 1 ? PeerPath::NvLink : PeerPath::Unknown;
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (from == to) continue;
      int access = 0;
      int atomics = 0;
      TANDEM_CUDA(cudaDeviceGetP2PAttribute(&access, cudaDevP2PAttrAccessSupported, from, to));
      TANDEM_CUDA(cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, from, to));
      if (access == 0) return PeerPath::None;
      if (atomics == 0) worst = PeerPath::Pcie;
    }
  }
  return worst;
}

ComputeDevice make_cuda_compute_device(const RunConfig& config, const RankEnvironment& job, Comm& comm,
                                       StartupClock& startup) {
  auto device = std::make_unique<CudaDevice>(
      CudaDeviceOptions{.ordinal = device_ordinal(config, job), .graphs = config.gpu.graph});
  ComputeDevice made;
  made.ops = make_cuda_backend(*device, {.plan_cache_path = plan_cache_path(config),
                                         .deterministic = config.device.deterministic,
                                         .tf32 = config.precision.compute == PrecisionConfig::Compute::Tf32,
                                         .weight_gradient = weight_gradient_dtype(config)});
  startup.finish("CUDA init");
  join_devices(config, *device, comm, made);
  startup.finish(config.comm.backend == CommConfig::Backend::Nccl ? "NCCL init" : "joining of devices");
  made.power =
      open_nvml_power({.pci_bus_id = device->memory_address(), .share = 1.0 / ranks_on_device(config, job)});
  made.device = std::move(device);
  return made;
}

std::map<std::string, std::string> cuda_versions() {
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const auto text = [](int code) { return fmt::format("{}.{}", code / 1000, code % 1000 / 10); };
  const auto nccl = nccl_versions();
  return {{"CUDA driver supports", text(driver)},
          {"CUDA runtime", text(runtime)},
          {"cuDNN", fmt::format("{}", cudnnGetVersion())},
          {"NCCL", fmt::format("{} from {}, header {}", nccl.library, nccl.path, nccl.header)}};
}

}  // namespace tandem

#include "trainer/device_setup.h"

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "ops/cpu/cpu_backend.h"
#include "trainer/cuda_setup.h"

namespace tandem {
namespace {

constexpr const char* kCpuAdvice =
    "run the CPU configuration instead: mpirun -np 2 ./trainer --config fashion_resnet.yaml";

void refuse_what_needs_a_gpu(const RunConfig& config) {
  if (config.precision.compute != PrecisionConfig::Compute::Fp32 ||
      config.precision.reduce != PrecisionConfig::Reduce::Fp32) {
    throw InputError(
        {.what = "CPU ranks compute and reduce in fp32 only",
         .where = "precision",
         .expected = "compute: fp32 and reduce: fp32",
         .found = fmt::format("compute: {}, reduce: {}", config_value(config, "precision.compute"),
                              config_value(config, "precision.reduce")),
         .advice = kCpuAdvice});
  }
  if (config.comm.backend == CommConfig::Backend::Nccl ||
      config.comm.backend == CommConfig::Backend::Emulated) {
    throw InputError({.what = "this communication backend needs GPUs",
                      .where = "comm.backend",
                      .expected = "auto, mpi or ring",
                      .found = config_value(config, "comm.backend"),
                      .advice = kCpuAdvice});
  }
}

}  // namespace

DeviceKind resolve_device_kind(const RunConfig& config) {
  if (config.device.kind == DeviceConfig::Kind::Cpu) return DeviceKind::Cpu;
  const auto reason = why_no_gpu();
  if (reason.empty()) return DeviceKind::Cuda;
  if (config.device.kind == DeviceConfig::Kind::Auto) return DeviceKind::Cpu;
  throw InputError({.what = "this configuration trains on GPUs, and there is none to train on",
                    .where = "device.kind",
                    .expected = "a GPU, or device.kind auto or cpu",
                    .found = reason,
                    .advice = kCpuAdvice});
}

ComputeDevice make_compute_device(const RunConfig& config, const RankEnvironment& job, Comm& comm,
                                  StartupClock& startup) {
  if (resolve_device_kind(config) == DeviceKind::Cuda)
    return make_cuda_compute_device(config, job, comm, startup);
  refuse_what_needs_a_gpu(config);
  ComputeDevice made{.device = std::make_unique<CpuDevice>(), .ops = make_cpu_backend()};
  startup.finish("device");
  return made;
}

int ranks_on_device(const RunConfig& config, const RankEnvironment& job) {
  const int gpus = visible_gpus();
  if (!config.gpu.share || gpus == 0) return 1;
  const int ordinal = job.local_rank % gpus;
  return (job.local_size - ordinal + gpus - 1) / gpus;
}

std::map<std::string, std::string> device_versions(DeviceKind kind) {
  return kind == DeviceKind::Cuda ? cuda_versions() : std::map<std::string, std::string>();
}

}  // namespace tandem

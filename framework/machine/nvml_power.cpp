#include "machine/nvml_power.h"

#include "machine/nvml_library.h"

namespace tandem {
namespace {

class NvmlPower final : public PowerSource {
 public:
  explicit NvmlPower(const NvmlPowerOptions& options)
      : nvml_(options.library), initialized_(nvml_.ask("nvmlInit_v2")), share_(options.share) {
    if (!initialized_) return;
    found_ = nvml_.ask("nvmlDeviceGetHandleByPciBusId_v2", options.pci_bus_id.c_str(), &device_);
  }
  ~NvmlPower() override {
    if (initialized_) nvml_.ask("nvmlShutdown");
  }
  NvmlPower(const NvmlPower&) = delete;
  NvmlPower& operator=(const NvmlPower&) = delete;

  std::optional<double> watts() override {
    unsigned int milliwatts = 0;
    if (!found_ || !nvml_.ask("nvmlDeviceGetPowerUsage", device_, &milliwatts)) return std::nullopt;
    return milliwatts * 1e-3 * share_;
  }
  std::string description() const override { return "NVML, power of the board, integrated"; }

 private:
  nvml::Library nvml_;
  bool initialized_;
  bool found_ = false;
  nvml::Device device_ = nullptr;
  double share_;
};

}  // namespace

std::unique_ptr<PowerSource> open_nvml_power(const NvmlPowerOptions& options) {
  auto source = std::make_unique<NvmlPower>(options);
  if (!source->watts()) return nullptr;
  return source;
}

}  // namespace tandem

// NVML as the probe sees it: names and values are those of NVML's reference. Three GPUs are counted; the last
// has fallen off the bus. The first two have four NVLinks each, two to one another and two to a switch, of
// which the second GPU's link 1 is down. GPU 1 does not tell ECC.
#include <cstdio>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;
constexpr int kGpuIsLost = 15;

struct Pci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char address[32];
};

struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

int gpus[2] = {0, 1};
int users = 0;  // that have begun and not ended

int index_of(const void* device) {
  return *static_cast<const int*>(device);
}

unsigned bus_of(int gpu) {
  return gpu == 0 ? 0x19 : 0x3b;
}

int copy_text(const char* text, char* to, unsigned bytes) {
  std::snprintf(to, bytes, "%s", text);
  return kSuccess;
}

int set(unsigned* value, unsigned to) {
  *value = to;
  return kSuccess;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  ++users;
  return kSuccess;
}
int nvmlShutdown() {
  --users;
  return kSuccess;
}
int tandem_fake_nvml_users() {
  return users;
}
const char* nvmlErrorString(int status) {
  return status == kGpuIsLost ? "GPU is lost" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  return copy_text("580.65.06", text, bytes);
}
int nvmlSystemGetCudaDriverVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  return set(count, 3);
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index > 1) return kGpuIsLost;
  *device = &gpus[index];
  return kSuccess;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  if (std::strcmp(address, "0000:3b:00.0") != 0) return kNotFound;
  *device = &gpus[1];
  return kSuccess;
}
int nvmlDeviceGetName(void*, char* text, unsigned bytes) {
  return copy_text("NVIDIA H100 80GB HBM3", text, bytes);
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned bytes) {
  return copy_text(index_of(device) == 0 ? "GPU-zero" : "GPU-one", text, bytes);
}
int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
  std::memset(pci, 0, sizeof *pci);
  pci->bus = bus_of(index_of(device));
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  memory[0] = 80'000'000'000ULL;
  memory[1] = 79'000'000'000ULL;
  memory[2] = 1'000'000'000ULL;
  return kSuccess;
}
int nvmlDeviceGetEccMode(void* device, unsigned* now, unsigned* pending) {
  if (index_of(device) == 1) return kNotSupported;
  *pending = 1;
  return set(now, 1);
}
int nvmlDeviceGetTotalEccErrors(void* device, int kind, int counter, unsigned long long* errors) {
  if (index_of(device) == 1) return kNotSupported;
  *errors = kind == 1 && counter == 0 ? 2 : 1000;
  return kSuccess;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* value) {
  return set(value, 1);
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* value) {
  return set(value, 5);
}
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* value) {
  return set(value, 8);
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* value) {
  return set(value, 16);
}
int nvmlDeviceGetClockInfo(void*, int clock, unsigned* value) {
  return set(value, clock == 1 ? 345 : 2619);
}
int nvmlDeviceGetMaxClockInfo(void*, int clock, unsigned* value) {
  return set(value, clock == 1 ? 1980 : 2619);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 0x1 | 0x4 | 0x40;
  return kSuccess;
}
int nvmlDeviceGetTemperature(void*, int sensor, unsigned* value) {
  return sensor == 0 ? set(value, 41) : kNotSupported;
}
int nvmlDeviceGetTemperatureThreshold(void*, int threshold, unsigned* value) {
  return threshold == 1 ? set(value, 87) : kNotSupported;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* value) {
  return set(value, 72'500);
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* value) {
  return set(value, 500'000);
}
int nvmlDeviceGetPowerManagementDefaultLimit(void*, unsigned* value) {
  return set(value, 700'000);
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  if (link >= 4) return 2;  // invalid argument
  return set(active, index_of(device) == 1 && link == 1 ? 0 : 1);
}
int nvmlDeviceGetNvLinkVersion(void*, unsigned, unsigned* version) {
  return set(version, 6);  // 4.0
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, Pci* pci) {
  std::memset(pci, 0, sizeof *pci);
  pci->bus = link < 2 ? bus_of(1 - index_of(device)) : 0xc0 + link;
  return kSuccess;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned link, unsigned* kind) {
  return set(kind, link < 2 ? 0 : 2);
}
int nvmlDeviceGetNvLinkErrorCounter(void*, unsigned link, int counter, unsigned long long* errors) {
  *errors = 10ULL * link + static_cast<unsigned>(counter);
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* processes) {
  if (index_of(device) == 1) return set(count, 0);
  if (*count < 2) return kInsufficientSize;
  processes[0] = {4711, 500'000'000ULL, 0, 0};
  processes[1] = {4712, ~0ULL, 0, 0};
  return set(count, 2);
}
int nvmlSystemGetProcessName(unsigned pid, char* text, unsigned bytes) {
  return pid == 4711 ? copy_text("/usr/bin/python3", text, bytes) : kNotFound;
}
int nvmlDeviceGetTopologyCommonAncestor(void*, void*, unsigned* level) {
  return set(level, 40);
}
}

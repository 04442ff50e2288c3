// The part of NVML's interface that gpu_probe.cpp calls, bound at run time.
//
// Names, values and layouts are those of NVML's public reference; they are fixed per suffix (_v2, _v3), so
// declaring them here keeps the build free of the CUDA Toolkit.
#pragma once

#include <memory>
#include <string>

namespace tandem::nvml {

using Device = struct DeviceOpaque*;
using Status = int;  // nvmlReturn_t

inline constexpr Status kSuccess = 0;
inline constexpr Status kInsufficientSize = 7;
inline constexpr int kMaxLinks = 18;  // of Hopper and Blackwell; a GPU with fewer answers with an error

struct PciInfo {  // nvmlPciInfo_t
  char legacy_address[16];
  unsigned domain, bus, device;
  unsigned device_id, subsystem_id;
  char address[32];
};

struct Memory {  // nvmlMemory_t, bytes
  unsigned long long total, free, used;
};

struct Process {  // nvmlProcessInfo_v2_t, of nvmlDeviceGetComputeRunningProcesses_v3
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

// A loaded library. Calls go through ask(); a function that this driver's NVML has not answers with an error.
class Library {
 public:
  explicit Library(const std::string& path);  // see is_loaded()
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  bool is_loaded() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }

  // Whether `function`, whose parameters have exactly the types of `arguments`, succeeds.
  template <class... Arguments>
  Status call(const char* function, Arguments... arguments) const {
    constexpr Status kFunctionNotFound = 13;
    auto* address = symbol(function);
    if (address == nullptr) return kFunctionNotFound;
    return reinterpret_cast<Status (*)(Arguments...)>(address)(arguments...);
  }
  template <class... Arguments>
  bool ask(const char* function, Arguments... arguments) const {
    return call(function, arguments...) == kSuccess;
  }
  std::string explain(Status status) const;

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;
  std::string error_;
};

}  // namespace tandem::nvml

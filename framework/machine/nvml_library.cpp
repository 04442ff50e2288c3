#include "machine/nvml_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tandem::nvml {

Library::Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) error_ = dlerror();
}

Library::~Library() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* Library::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

std::string Library::explain(Status status) const {
  auto* address = symbol("nvmlErrorString");
  if (address == nullptr) return fmt::format("NVML error {}", status);
  return reinterpret_cast<const char* (*)(Status)>(address)(status);
}

}  // namespace tandem::nvml

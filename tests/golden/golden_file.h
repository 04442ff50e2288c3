// Reads the fixtures that make_fixtures.py writes; the format is described there.
#pragma once

#include <map>
#include <string>

#include "support/host_tensor.h"

namespace tandem {

// Owns its tensors.
class GoldenFile {
 public:
  // Throws Error naming the file if it is not there or is not a fixture.
  explicit GoldenFile(const std::string& path);

  const HostTensor& tensor(const std::string& name) const;  // throws Error if there is none
  float number(const std::string& name) const;
  const std::map<std::string, HostTensor>& tensors() const { return tensors_; }

 private:
  std::map<std::string, HostTensor> tensors_;
  std::map<std::string, double> numbers_;
};

}  // namespace tandem

// Names a stretch of the host's work for profilers: an NVTX range where Tandem is built with CUDA, else
// nothing.
#pragma once

#include <cstdint>

namespace tandem {

// From construction to destruction, on the calling thread; ranges of a thread nest. What is enqueued
// meanwhile belongs to it, so a profiler such as Nsight Systems shows it over the kernels, too; replayed work
// is enqueued by nobody and lies in its step's range alone. A few nanoseconds where no profiler looks on.
class NamedRange {
 public:
  explicit NamedRange(const char* name);
  NamedRange(const char* name, std::int64_t number);  // "name number"
  ~NamedRange();
  NamedRange(const NamedRange&) = delete;
  NamedRange& operator=(const NamedRange&) = delete;
};

}  // namespace tandem

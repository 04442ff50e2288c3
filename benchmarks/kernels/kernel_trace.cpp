// A library that writes down every kernel and copy of a CUDA program. The driver loads it into any program
// that is started with both of
//   CUDA_INJECTION64_PATH=<build>/benchmarks/kernels/libkernel_trace.so
//   TANDEM_KERNEL_TRACE=<file>
// and kernels.py, which does so, reads the file: one line per kernel, also of those in graphs, with what it
// is (kernel, copy or set), begin and end in nanoseconds, the stream and the name, separated by tabs. The
// file is complete when the program has ended by returning from main() or by exit().
#include <cupti.h>
#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>

namespace {

constexpr std::size_t kBufferBytes = 8 << 20;
constexpr std::align_val_t kAlignment{8};

[[noreturn]] void fail(const char* call, CUptiResult result) {
  const char* text = "unknown error";
  cuptiGetResultString(result, &text);
  std::fprintf(stderr, "error: kernel trace: %s: %s\n", call, text);
  std::exit(1);
}

void check(const char* call, CUptiResult result) {
  if (result != CUPTI_SUCCESS) fail(call, result);
}

// CUPTI calls back from threads of its own, one at a time for a buffer that is full; the callbacks take no
// argument of ours, so the file is the library's.
class TraceFile {
 public:
  explicit TraceFile(const char* path) : file_(std::fopen(path, "w"), &std::fclose) {
    if (file_ == nullptr) {
      std::fprintf(stderr, "error: kernel trace: %s cannot be written\n", path);
      std::exit(1);
    }
  }

  void add(const char* what, std::uint64_t begin, std::uint64_t end, std::uint32_t stream,
           const std::string& name) {
    std::fprintf(file_.get(), "%s\t%llu\t%llu\t%u\t%s\n", what, static_cast<unsigned long long>(begin),
                 static_cast<unsigned long long>(end), stream, name.c_str());
  }

  const std::string& readable(const char* mangled) {
    const auto [place, is_new] = names_.try_emplace(mangled);
    if (is_new) {
      int status = 0;
      const std::unique_ptr<char, void (*)(void*)> name(
          abi::__cxa_demangle(mangled, nullptr, nullptr, &status), &std::free);
      place->second = status == 0 ? name.get() : mangled;
    }
    return place->second;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::unordered_map<std::string, std::string> names_;
};

TraceFile& trace_file() {
  static TraceFile file(std::getenv("TANDEM_KERNEL_TRACE"));
  return file;
}

void write(CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
      return trace_file().add("kernel", kernel->start, kernel->end, kernel->streamId,
                              trace_file().readable(kernel->name));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy5*>(record);
      return trace_file().add("copy", copy->start, copy->end, copy->streamId, "copy");
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto* set = reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      return trace_file().add("set", set->start, set->end, set->streamId, "set");
    }
    default:
      return;
  }
}

void CUPTIAPI request_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(::operator new(kBufferBytes, kAlignment));
  *bytes = kBufferBytes;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) write(record);
  ::operator delete(buffer, kAlignment);
}

void flush() {
  check("cuptiActivityFlushAll", cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
}

}  // namespace

// The name that the driver looks for. 1: all is well.
extern "C" int InitializeInjection() {
  if (std::getenv("TANDEM_KERNEL_TRACE") == nullptr) return 1;
  trace_file();  // made first, so that it is closed after flush() has written to it
  std::atexit(flush);
  check("cuptiActivityRegisterCallbacks", cuptiActivityRegisterCallbacks(request_buffer, take_buffer));
  for (const auto kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
    check("cuptiActivityEnable", cuptiActivityEnable(kind));
  return 1;
}

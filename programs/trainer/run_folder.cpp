#include "trainer/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "page/run_page.h"
#include "report/atomic_file.h"
#include "report/tables.h"
#include "report/trace_file.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, const std::string& found, const std::string& advice) {
  throw InputError({.what = "the record of the run cannot be written",
                    .where = path.string(),
                    .expected = "a directory, or a place for a new one, that may be written to",
                    .found = found,
                    .advice = advice});
}

}  // namespace

RunFolder::RunFolder(fs::path path) : path_(std::move(path)) {
  constexpr const char* kElsewhere = "choose another directory with --out, or set report.dir";
  std::error_code failed;
  fs::create_directories(path_, failed);
  if (failed) refuse(path_, failed.message(), kElsewhere);
  descriptor_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) refuse(path_, std::generic_category().message(errno), kElsewhere);
  try {
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      refuse(path_, "another run, which is still going on, writes there", kElsewhere);
    const auto probe = path_ / ".writable";
    write_file_atomically(probe, "a full disk would refuse this\n");
    fs::remove(probe, failed);  // a leftover does no harm
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

RunFolder::~RunFolder() {
  close(descriptor_);
}

void RunFolder::remove_leftovers() const {
  for (const auto& leftover : {metrics_path(), path_ / "trace.json"}) {
    std::error_code failed;
    fs::remove(leftover, failed);
    if (failed) refuse(leftover, failed.message(), "remove it, or choose another directory with --out");
  }
}

void RunFolder::write_trace(const RunRecord& record) const {
  write_file_atomically(path_ / "trace.json", chrome_trace(record));
}

void RunFolder::write(const RunRecord& record) const {
  write_run_record(record, path_ / "record.json");
  write_file_atomically(path_ / "config.yaml", record.config);
  write_file_atomically(path_ / "run.md", run_markdown(record));
  write_file_atomically(path_ / "report.html", run_page(record));
}

}  // namespace tandem

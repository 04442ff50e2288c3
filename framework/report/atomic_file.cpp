#include "report/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* what, const fs::path& path, int reason) {
  throw InputError({.what = what,
                    .where = path.string(),
                    .expected = {},
                    .found = std::generic_category().message(reason),
                    .advice = "Check that the path exists, its permissions and the space left on the disk."});
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }
  // Some file systems report a failed write only here.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

// Returns 0, or errno of the call that failed.
int write_and_flush(const fs::path& path, std::string_view content) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) return errno;
  while (!content.empty()) {
    const auto written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(file.get()) != 0) return errno;
  return file.close() ? 0 : errno;
}

// The rename itself must reach the disk too. Some file systems cannot flush a directory and say EINVAL; there
// it is already as safe as it gets.
int flush_directory(const fs::path& directory) {
  const FileDescriptor opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0) return errno;
  return ::fsync(opened.get()) == 0 || errno == EINVAL ? 0 : errno;
}

}  // namespace

void write_file_atomically(const fs::path& path, std::string_view content) {
  fs::path temporary = path;
  temporary += ".tmp";
  int reason = write_and_flush(temporary, content);
  if (reason == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) reason = errno;
  if (reason != 0) {
    ::unlink(temporary.c_str());
    fail("A file could not be written.", path, reason);
  }
  const fs::path parent = path.parent_path();
  reason = flush_directory(parent.empty() ? fs::path(".") : parent);
  if (reason != 0) fail("A directory could not be flushed to the disk.", parent, reason);
}

std::string read_file(const fs::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail("A file could not be read.", path, errno);
  std::string content;
  std::array<char, 1 << 16> chunk;
  for (;;) {
    const auto got = ::read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("A file could not be read.", path, errno);
    if (got == 0) return content;
    content.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace tandem

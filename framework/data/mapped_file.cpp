#include "data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace tandem {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(const std::filesystem::path& path)
      : raw_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~FileDescriptor() {
    if (raw_ >= 0) ::close(raw_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int raw() const { return raw_; }

 private:
  int raw_;
};

[[noreturn]] void fail(const std::filesystem::path& path, std::string found) {
  throw InputError({.what = "The data file cannot be opened.",
                    .where = path.string(),
                    .expected = "a readable regular file",
                    .found = std::move(found),
                    .advice = "Check the path in the configuration and the permissions of the file."});
}

std::string last_error() {
  return std::generic_category().message(errno);
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const FileDescriptor file(path);
  struct stat status {};
  if (file.raw() < 0 || ::fstat(file.raw(), &status) != 0) fail(path, last_error());
  if (!S_ISREG(status.st_mode)) fail(path, "something that is not a regular file");
  if (status.st_size == 0) return;  // an empty mapping is an error to the operating system, not to us
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.raw(), 0);
  if (memory == MAP_FAILED) fail(path, last_error());
  bytes_ = {static_cast<const std::uint8_t*>(memory), bytes};
}

MappedFile::~MappedFile() {
  unmap();
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap();
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

void MappedFile::unmap() noexcept {
  if (!bytes_.empty()) ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace tandem

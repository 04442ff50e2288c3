// A file mapped read-only into memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace tandem {

// Move-only owner of the mapping. Pages are read when first touched and shared between the ranks of a host,
// so opening a file of any size is cheap. Readable from any thread. The file must not be shortened while it
// is mapped: the operating system answers a read past its end with SIGBUS, which no library can turn into an
// error.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path);  // throws InputError if it cannot be mapped
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::uint8_t> bytes() const { return bytes_; }  // empty for an empty or moved-from file

 private:
  void unmap() noexcept;

  std::span<const std::uint8_t> bytes_;
};

}  // namespace tandem

// Whole files as bytes in memory, inflated where they are gzip files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace tandem {

// The file as it is. Throws InputError if it is missing, not a regular file, or cannot be read.
std::vector<std::uint8_t> read_bytes(const std::filesystem::path& path);

// The content of a plain or gzip file, told apart by the gzip magic number and not by the name. The whole
// stream is checked: a truncated or damaged stream, a wrong checksum, and bytes after the last gzip member
// are InputErrors, and so is a content above `limit_bytes`, so that a hostile file cannot take all memory.
std::vector<std::uint8_t> read_plain_or_gzip(const std::filesystem::path& path, std::int64_t limit_bytes);

}  // namespace tandem

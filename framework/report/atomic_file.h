// Files that are either the old version or the new one, whenever the program or the machine stops.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tandem {

// Writes `path`.tmp, flushes it to the disk, renames it over `path` and flushes the directory. One writer per
// path at a time; a .tmp file that a killed run left behind is overwritten. Blocks until the disk has the
// bytes. Throws InputError naming the path and the system's reason; unless it was the flush of the directory
// that failed, `path` is then untouched and no .tmp file remains.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// The whole file. Throws InputError naming the path and the system's reason.
std::string read_file(const std::filesystem::path& path);

}  // namespace tandem

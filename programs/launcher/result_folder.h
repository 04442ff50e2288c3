// Folders that results go to.
#pragma once

#include <filesystem>
#include <string>

namespace tandem {

// Throws InputError if it cannot be made.
void make_result_folder(const std::filesystem::path& folder);

// "fashion-compare-20250301T123456Z" for "fashion-compare": a name that nobody has used yet.
std::string named_by_time(const std::string& name);

}  // namespace tandem

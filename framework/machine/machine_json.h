// Machines as JSON, so that one can be looked at, sent and tested with elsewhere.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "machine/machine.h"

namespace tandem {

std::string to_json(const Machine& machine);

// Strict: throws InputError naming `file` and the JSON path for text that is not JSON, another schema, a
// missing, unknown or mistyped field, and for pairs and cores that name what the machine has not.
Machine machine_from_json(std::string_view text, const std::string& file);

Machine read_machine(const std::filesystem::path& path);

}  // namespace tandem

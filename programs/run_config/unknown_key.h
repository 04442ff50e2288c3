// The error for a key that does not exist: what was meant, or where it belongs.
#pragma once

#include <string>

#include "run_config/schema.h"

namespace tandem {

// `path` is the key as written, with its section: "optim.momentun". `where` says where that was.
[[noreturn]] void refuse_unknown_key(const ConfigSchema& schema, const std::string& path,
                                     const std::string& where);

}  // namespace tandem

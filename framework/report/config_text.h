// The resolved config of a run record, by key. Pure function.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tandem {

// "comm.bucket_mb" -> "25". Reads what the trainer itself writes into a record: nested maps in block style,
// one key a line, values as they stand there. Lines of another form (a record made by hand) are left out.
std::map<std::string, std::string> config_values(std::string_view yaml);

}  // namespace tandem

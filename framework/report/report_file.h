// What kind of file a report file is, before it is read as that kind.
#pragma once

#include <string>
#include <string_view>

namespace tandem {

// The "schema" of the file, such as RunRecord::kSchema. Throws InputError naming `file` if the text is not
// JSON or has no schema.
std::string schema_of(std::string_view text, const std::string& file);

}  // namespace tandem

// What all pages have around their content. Internal to this library.
#pragma once

#include <string>

#include "page/page_data.h"

namespace tandem {

// A whole HTML document. `title` is text, `content` HTML.
std::string framed_page(const std::string& title, const std::string& content, const PageData& data);

}  // namespace tandem

#include "page/page_template.h"

#include "core/error.h"

namespace tandem {

std::string fill_template(std::string_view text, const PageValues& values) {
  std::string filled;
  while (true) {
    const auto open = text.find("{{");
    filled += text.substr(0, open);
    if (open == std::string_view::npos) return filled;
    const auto close = text.find("}}", open);
    TANDEM_EXPECT(close != std::string_view::npos, "a gap of the template does not end");
    const auto gap = text.substr(open + 2, close - open - 2);
    text.remove_prefix(close + 2);
    const bool section = gap.starts_with('#');
    const std::string name(section ? gap.substr(1) : gap);
    const auto value = values.find(name);
    TANDEM_EXPECT(value != values.end(), "the template's \"{}\" has no value", name);
    if (!section) {
      filled += value->second;
      continue;
    }
    const auto end_mark = "{{/" + name + "}}";
    const auto end = text.find(end_mark);
    TANDEM_EXPECT(end != std::string_view::npos, "the template's section \"{}\" does not end", name);
    if (!value->second.empty()) filled += fill_template(text.substr(0, end), values);
    text.remove_prefix(end + end_mark.size());
  }
}

}  // namespace tandem

#include "page/page_frame.h"

#include "page/assets.h"
#include "page/html_text.h"
#include "page/page_template.h"

namespace tandem {

std::string framed_page(const std::string& title, const std::string& content, const PageData& data) {
  return fill_template(assets::frame, {{"title", escape_html(title)},
                                       {"content", content},
                                       {"data", data.script_text()},
                                       {"style", std::string(assets::style)},
                                       {"script", std::string(assets::script)},
                                       {"style_hash", std::string(assets::style_hash)},
                                       {"script_hash", std::string(assets::script_hash)},
                                       {"chart_js_hash", std::string(assets::chart_js_hash)},
                                       {"chart_js", std::string(assets::chart_js)}});
}

}  // namespace tandem

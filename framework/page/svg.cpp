#include "page/svg.h"

#include <fmt/format.h>

#include "page/html_text.h"

namespace tandem {
namespace {

std::string titled(const std::string& start, const char* tag, std::string_view words) {
  if (words.empty()) return start + "/>\n";
  return fmt::format("{}><title>{}</title></{}>\n", start, escape_html(words), tag);
}

}  // namespace

Svg::Svg(double width, double height, std::string_view description)
    : shapes_(fmt::format(
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
          "height=\"{1:.0f}\" role=\"img\" aria-label=\"{2}\">\n",
          width, height, escape_html(description))) {}

void Svg::box(std::string_view style, const SvgBox& box, std::string_view words, double radius) {
  shapes_ +=
      titled(fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                         "rx=\"{:.0f}\"",
                         style, box.x, box.y, box.width, box.height, radius),
             "rect", words);
}

void Svg::text(std::string_view style, double x, double y, std::string_view words, const char* anchor) {
  shapes_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", style,
                         x, y, anchor, escape_html(words));
}

void Svg::fitted_text(std::string_view style, const SvgBox& box, std::string_view words) {
  constexpr double kLetter = 6.6, kMargin = 4.0, kBaseline = 4.0;
  const auto letters = static_cast<std::size_t>(std::max(0.0, (box.width - 2.0 * kMargin) / kLetter));
  if (letters < 2 && letters < words.size()) return;
  std::string shown(words);
  if (words.size() > letters) {
    auto cut = letters - 1;
    while (cut > 0 && (static_cast<unsigned char>(words[cut]) & 0xC0) == 0x80) --cut;  // whole code points
    shown = std::string(words.substr(0, cut)) + "…";
  }
  text(style, box.x + kMargin, box.y + box.height / 2.0 + kBaseline, shown);
}

void Svg::line(std::string_view style, double x1, double y1, double x2, double y2, std::string_view words) {
  shapes_ += titled(fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"",
                                style, x1, y1, x2, y2),
                    "line", words);
}

void Svg::curve(std::string_view style, double x1, double y1, double x2, double y2, double depth,
                std::string_view words) {
  shapes_ += titled(
      fmt::format("<path class=\"{}\" d=\"M {:.1f} {:.1f} C {:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\"",
                  style, x1, y1, x1, y1 + depth, x2, y2 + depth, x2, y2),
      "path", words);
}

}  // namespace tandem

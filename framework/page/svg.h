// Pictures drawn by hand: shapes appended to an SVG. Colours are the page's, by class (assets/page.css).
#pragma once

#include <string>
#include <string_view>

namespace tandem {

struct SvgBox {
  double x = 0.0;
  double y = 0.0;
  double width = 0.0;
  double height = 0.0;
};

class Svg {
 public:
  Svg(double width, double height, std::string_view description);  // for those who do not see it

  // `words` appear when the pointer rests on it; may be empty. Corners are rounded by `radius`.
  void box(std::string_view style, const SvgBox& box, std::string_view words = {}, double radius = 0.0);
  void text(std::string_view style, double x, double y, std::string_view words, const char* anchor = "start");
  // As much of the words as fits into the width, or nothing.
  void fitted_text(std::string_view style, const SvgBox& box, std::string_view words);
  void line(std::string_view style, double x1, double y1, double x2, double y2, std::string_view words = {});
  void curve(std::string_view style, double x1, double y1, double x2, double y2, double depth,
             std::string_view words);  // from one point to another, sagging by `depth`

  std::string text() const { return shapes_ + "</svg>\n"; }

 private:
  std::string shapes_;
};

}  // namespace tandem

// What pages are made of: the files of assets/ and the chart library, built into the program.
// cmake/EmbedText.cmake writes the source.
#pragma once

#include <string_view>

namespace tandem::assets {

extern const std::string_view frame;     // what all pages have around their content
extern const std::string_view run;       // the content of a run's page
extern const std::string_view compare;   // of a comparison's
extern const std::string_view sweep;     // of a sweep's
extern const std::string_view scaling;   // of different numbers of ranks
extern const std::string_view style;     // CSS
extern const std::string_view script;    // draws the charts from the data in the page
extern const std::string_view chart_js;  // Chart.js of the distribution, with its license notice

// "sha256-…" of each, for the page's Content-Security-Policy: the browser runs and applies these three alone.
extern const std::string_view style_hash;
extern const std::string_view script_hash;
extern const std::string_view chart_js_hash;

}  // namespace tandem::assets

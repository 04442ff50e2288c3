// The one block of data in a page, from which its script draws the charts. Internal to this library.
#pragma once

#include <string>
#include <vector>

#include "page/run_sections.h"
#include "report/comparison.h"
#include "report/run_record.h"
#include "report/scaling.h"
#include "report/sweep_result.h"

namespace tandem {

// JSON by chart: parts, buckets, bandwidth, loss of a run; speedup, parts, bandwidth,
// losses of a comparison; sweep; scaling. A chart
// without data is missing.
class PageData {
 public:
  static PageData of(const RunRecord& run);
  static PageData of(const CompareResult& result, const std::vector<NamedRun>& runs);
  static PageData of(const SweepResult& result);
  static PageData of(const ScalingResult& result);
  static PageData none() { return PageData("{}"); }

  // For a <script> element: no "<" is left that could end it.
  std::string script_text() const;

 private:
  explicit PageData(std::string json) : json_(std::move(json)) {}
  std::string json_;
};

}  // namespace tandem

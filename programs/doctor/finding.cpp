#include "doctor/finding.h"

#include <algorithm>

namespace tandem {

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::Note:
      return "note";
    case Severity::Warning:
      return "warning";
    case Severity::Failure:
      return "FAIL";
  }
  return "?";
}

int exit_status_of(const Findings& findings) {
  const auto any = [&findings](Severity severity) {
    return std::ranges::find(findings, severity, &Finding::severity) != findings.end();
  };
  if (any(Severity::Failure)) return kFailingStatus;
  return any(Severity::Warning) ? kWarningStatus : kHealthyStatus;
}

}  // namespace tandem

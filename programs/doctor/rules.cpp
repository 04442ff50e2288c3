#include "doctor/rules.h"

#include <algorithm>

namespace tandem {

Findings examine(const Patient& patient) {
  Findings findings;
  for (const auto rule : {examine_programs, examine_gpus, examine_links, examine_system, examine_variables})
    rule(patient, findings);
  std::ranges::stable_sort(findings, std::ranges::greater(), &Finding::severity);
  return findings;
}

}  // namespace tandem

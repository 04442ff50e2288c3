// What the doctor says: one finding per ailment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/finding_id.h"

namespace tandem {

enum class Severity { Note, Warning, Failure };

struct Finding {
  Severity severity = Severity::Note;
  FindingId id;        // "shm-small": the same for the same ailment on every machine; docs name it
  std::string what;    // one sentence, with the numbers
  std::string why;     // why it matters
  std::string advice;  // what to do; "" for a note
  bool operator==(const Finding&) const = default;
};

using Findings = std::vector<Finding>;

std::string_view name_of(Severity severity);  // "note", "warning", "FAIL"

// Exit statuses of `launcher doctor`.
inline constexpr int kHealthyStatus = 0;
inline constexpr int kWarningStatus = 1;
inline constexpr int kFailingStatus = 2;
int exit_status_of(const Findings& findings);

}  // namespace tandem

#include "doctor/doctor_report.h"

#include "doctor/patients.h"

namespace tandem {
namespace {

using testing::HasSubstr;

TEST(DoctorReport, TheLinkMatrix) {
  EXPECT_EQ(link_matrix_text(patient("h200x2_nv18").host), R"(
|      | GPU0 | GPU1 | NUMA |
| ---- | ---- | ---- | ---- |
| GPU0 | X    | NV18 | ?    |
| GPU1 | NV18 | X    | ?    |
)");
  EXPECT_EQ(link_matrix_text(patient("cpu_only").host), "");
}

TEST(DoctorReport, EveryFindingSaysWhatWhyAndWhatToDo) {
  const auto of = patient("h200x2_dead_link");
  const auto findings = examine(of);
  const auto text = doctor_text(of, findings);
  for (const auto& finding : findings) {
    EXPECT_THAT(text, HasSubstr(std::string(finding.id.text())));
    EXPECT_THAT(text, HasSubstr(finding.what));
    EXPECT_THAT(text, HasSubstr("why:   " + finding.why));
    EXPECT_THAT(text, HasSubstr("to do: " + finding.advice));
  }
  EXPECT_THAT(text, HasSubstr("warnings: 0 failures, 2 warnings, 0 notes"));
}

TEST(DoctorReport, TheShortFormLeavesNotesOut) {
  auto of = patient("h200x2_nv18");
  of.around.variables = {{"NCCL_DEBUG", "INFO"}, {"CUDA_DEVICE_MAX_CONNECTIONS", "1"}};
  const auto text = findings_text(examine(of), Severity::Warning);
  EXPECT_THAT(text, HasSubstr("one-connection"));
  EXPECT_THAT(text, testing::Not(HasSubstr("nccl-settings")));
}

TEST(DoctorReport, PairsThatWereTestedStandBesideWhatTheyShouldGive) {
  auto of = patient("h200x2_nv18");
  of.measured.peers = {{.from = 0, .to = 1, .access = true, .gb_per_s = 377.25},
                       {.from = 1, .to = 0, .access = true, .wrong = "all words are zero"}};
  const auto text = doctor_text(of, examine(of));
  EXPECT_THAT(text, HasSubstr("377.2 | "));
  EXPECT_THAT(text, HasSubstr("450.0 | "));
  EXPECT_THAT(text, HasSubstr("WRONG"));
  EXPECT_THAT(text, HasSubstr("FAIL: 1 failure"));
}

TEST(DoctorReport, JsonHoldsVerdictFindingsAndFacts) {
  const auto of = patient("h200x2_dead_link");
  const auto json = doctor_json(of, examine(of));
  EXPECT_THAT(json, HasSubstr("\"schema\": \"tandem.doctor/1\""));
  EXPECT_THAT(json, HasSubstr("\"exit_status\": 1"));
  EXPECT_THAT(json, HasSubstr("\"id\": \"nvlink-down\""));
  EXPECT_THAT(json, HasSubstr("\"schema\": \"tandem.machine/2\""));
}

}  // namespace
}  // namespace tandem

#include "launcher/mpirun_messages.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

const std::string kRule = std::string(74, '-') + '\n';

// What comes out, whatever the pieces in which the text goes in.
std::string filtered(const std::string& text) {
  std::string whole;
  for (const std::size_t piece : {text.size() + 1, std::size_t{1}, std::size_t{7}}) {
    std::string output;
    MpirunMessages messages([&](std::string_view bytes) { output += bytes; });
    for (std::size_t at = 0; at < text.size(); at += piece)
      messages.write(std::string_view(text).substr(at, piece));
    messages.finish();
    if (!whole.empty()) {
      EXPECT_EQ(output, whole) << "in pieces of " << piece;
    }
    whole = output;
  }
  return whole;
}

TEST(MpirunMessages, LeavesOutWhatRepeatsAnError) {
  const std::string error = "error: no such data\n  where: here\n";
  EXPECT_EQ(
      filtered(
          error + kRule +
          "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\nwith errorcode 2.\n" + kRule +
          kRule + "Primary job  terminated normally, but 1 process returned\n" + kRule +
          "[vm:1] 1 more process has sent help message help-mpi-api.txt / mpi-abort\n"
          "[vm:1] Set MCA parameter \"orte_base_help_aggregate\" to 0 to see all help / error messages\n"),
      error);
}

TEST(MpirunMessages, KeepsWhatOnlyMpirunKnows) {
  for (const auto& text :
       {kRule + "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).\n" +
            kRule,
        kRule + "There are not enough slots available in the system\n" + kRule, kRule + "no end\n", kRule,
        std::string("--\n- a list\n[vm:1] other\n"), std::string("no line feed"), std::string("[vm")})
    EXPECT_EQ(filtered(text), text);
}

TEST(MpirunMessages, PassesAProgressLineOnAtOnce) {
  std::string output;
  MpirunMessages messages([&](std::string_view bytes) { output += bytes; });
  messages.write("step 1\rste");
  EXPECT_EQ(output, "step 1\rste");
}

}  // namespace
}  // namespace tandem

#include "launcher/mpirun_line.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "environment/shell_quoting.h"

namespace tandem {
namespace {

std::string line_of(MpirunRequest request) {
  request.program = {"./trainer"};
  return shell_quoted(mpirun_line(request));
}

TEST(MpirunLine, SaysHowRanksAreBound) {
  EXPECT_EQ(line_of({}), "mpirun -np 1 --bind-to none ./trainer");
  EXPECT_EQ(line_of({.ranks = 2, .root = true, .binding = Binding::Plain, .cores_per_rank = 4}),
            "mpirun -np 2 --allow-run-as-root --map-by slot:PE=4 --bind-to core ./trainer");
  EXPECT_EQ(line_of({.ranks = 4, .oversubscribe = true}),
            "mpirun -np 4 --map-by slot:OVERSUBSCRIBE --bind-to none ./trainer");
  EXPECT_EQ(line_of({.ranks = 2, .binding = Binding::Rankfile, .rankfile = "o/r.txt"}),
            "mpirun -np 2 --rankfile o/r.txt ./trainer");
  EXPECT_EQ(line_of({.ranks = 2, .open_mpi_major = 5, .binding = Binding::Rankfile, .rankfile = "o/r.txt"}),
            "mpirun -np 2 --map-by rankfile:file=o/r.txt ./trainer");
}

TEST(MpirunLine, NamesHostsAgentAndVariables) {
  EXPECT_EQ(line_of({.ranks = 2, .hostfile = "h.txt", .agent = "ssh -x", .environment = {"A=1,2"}}),
            "mpirun -np 2 --hostfile h.txt --mca plm_rsh_agent 'ssh -x' --bind-to none -x A=1,2 ./trainer");
  EXPECT_EQ(line_of({.ranks = 2, .open_mpi_major = 5, .hostfile = "h.txt", .agent = "ssh"}),
            "mpirun -np 2 --hostfile h.txt --prtemca plm_ssh_agent ssh --bind-to none ./trainer");
}

TEST(MpirunLine, UsersArgumentsComeBehindOursAndBeforeTheProgram) {
  const auto line = mpirun_line({.ranks = 2,
                                 .binding = Binding::Plain,
                                 .extra = {"--bind-to", "none"},
                                 .program = {"./trainer", "--config", "a"}});
  EXPECT_EQ(shell_quoted(line),
            "mpirun -np 2 --map-by slot:PE=1 --bind-to core --bind-to none ./trainer --config a");
}

TEST(MpirunLine, NoRanksIsABug) {
  EXPECT_THROW(mpirun_line({.ranks = 0}), Error);
}

TEST(ShellQuoted, QuotesWhatAShellWouldChange) {
  const std::vector<std::string> words = {"a", "b c", "",      "it's",         "$HOME",     "x;y",     "a*",
                                          "~", "#",   "k=v,w", "/p/q-1.2@3+4", "new\nline", "\"two\"", "[1]"};
  EXPECT_EQ(
      shell_quoted(words),
      "a 'b c' '' 'it'\\''s' '$HOME' 'x;y' 'a*' '~' '#' k=v,w /p/q-1.2@3+4 'new\nline' '\"two\"' '[1]'");
}

TEST(OpenMpiVersion, IsReadFromItsFirstLine) {
  EXPECT_EQ(open_mpi_major_version("mpirun (Open MPI) 4.1.4\n\nReport bugs to …"), 4);
  EXPECT_EQ(open_mpi_major_version("mpirun (Open MPI) 5.0.3\n"), 5);
  EXPECT_EQ(open_mpi_major_version("mpirun (Open MPI) 10.2\n"), 10);
  EXPECT_EQ(open_mpi_major_version("HYDRA build details:\n    Version: 4.0.2\n"), 0);
  EXPECT_EQ(open_mpi_major_version("mpirun (Open MPI) x"), 0);
  EXPECT_EQ(open_mpi_major_version(""), 0);
}

}  // namespace
}  // namespace tandem

#include "launcher/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "launcher/child_process.h"

namespace tandem {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <class Options>
Options parsed(const std::vector<std::string>& arguments) {
  return std::get<Options>(parse_command_line(arguments));
}

TEST(CommandLine, Run) {
  const auto defaults = parsed<RunOptions>({"run", "--config", "a.yaml"});
  EXPECT_EQ(defaults.launch.config, "a.yaml");
  EXPECT_TRUE(defaults.launch.bind);
  EXPECT_EQ(defaults.launch.starter, Starter::Mpirun);
  EXPECT_EQ(defaults.launch.ranks, 0);
  EXPECT_TRUE(defaults.out.empty());
  EXPECT_FALSE(defaults.dry_run);

  const auto all =
      parsed<RunOptions>({"run", "--ranks", "3", "--set", "a.b=1", "c.d=[1, 2]", "--dry-run", "--set",
                          "e.f=x y", "--out", "o", "--config", "c", "--", "--bind-to", "none", "--", "x"});
  EXPECT_EQ(all.launch.ranks, 3);
  EXPECT_THAT(all.overrides, ElementsAre("a.b=1", "c.d=[1, 2]", "e.f=x y"));
  EXPECT_THAT(all.launch.mpirun_extra, ElementsAre("--bind-to", "none", "--", "x"));
  EXPECT_EQ(all.out, "o");
  EXPECT_TRUE(all.dry_run);
}

TEST(CommandLine, Compare) {
  const auto defaults =
      parsed<CompareOptions>({"compare", "--config", "a", "--links", "shm,tcp,paced:no-overlap"});
  EXPECT_THAT(defaults.links, ElementsAre("shm", "tcp", "paced:no-overlap"));
  EXPECT_EQ(defaults.launch.ranks, 2);
  EXPECT_EQ(defaults.repeats, 3);
  EXPECT_FALSE(defaults.accuracy_run);

  const auto all = parsed<CompareOptions>({"compare", "--config", "a", "--links", "shm", "--repeats", "5",
                                           "--accuracy-run", "--accuracy-set", "train.epochs=9", "--set",
                                           "a=b", "--out", "o", "--ranks", "4"});
  EXPECT_EQ(all.repeats, 5);
  EXPECT_EQ(all.launch.ranks, 4);
  EXPECT_TRUE(all.accuracy_run);
  EXPECT_THAT(all.accuracy_overrides, ElementsAre("train.epochs=9"));
  EXPECT_THAT(all.overrides, ElementsAre("a=b"));
}

TEST(CommandLine, CompareOverAnEmulatedLink) {
  const auto options = parsed<CompareOptions>(
      {"compare", "--config", "a", "b", "--links", "nvlink,pcie", "--emulate", "ranks=8"});
  EXPECT_EQ(options.emulate_ranks, 8);
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--emulate", "8"},
                                             {"--emulate", "ranks=1"},
                                             {"--emulate", "ranks=x"},
                                             {"--emulate", "ranks=8", "--ranks", "2"}}) {
    std::vector<std::string> arguments = {"compare", "--config", "a", "--links", "nvlink"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    EXPECT_THROW(parse_command_line(arguments), InputError) << wrong.back();
  }
}

TEST(CommandLine, Doctor) {
  const auto defaults = parsed<DoctorOptions>({"doctor"});
  EXPECT_EQ(defaults.ranks, 0);
  EXPECT_FALSE(defaults.json);
  EXPECT_FALSE(defaults.all_ways);
  EXPECT_TRUE(defaults.machine.empty());
  const auto all = parsed<DoctorOptions>(
      {"doctor", "--ranks", "8", "--json", "--all-ways", "--machine", "m.json", "--", "--bind-to", "none"});
  EXPECT_EQ(all.ranks, 8);
  EXPECT_TRUE(all.json);
  EXPECT_TRUE(all.all_ways);
  EXPECT_EQ(all.machine, "m.json");
  EXPECT_THAT(all.mpirun_extra, ElementsAre("--bind-to", "none"));
  EXPECT_TRUE(parsed<RunOptions>({"run", "--config", "a"}).launch.check_gpus);
  EXPECT_FALSE(parsed<RunOptions>({"run", "--config", "a", "--no-doctor"}).launch.check_gpus);
}

TEST(CommandLine, Bench) {
  const auto defaults = parsed<BenchOptions>({"bench"});
  EXPECT_THAT(defaults.links, IsEmpty());
  EXPECT_EQ(defaults.repeats, 3);
  EXPECT_EQ(defaults.max_bytes, 0);
  const auto all = parsed<BenchOptions>({"bench",           "--links",
                                         "nvlink,pcie",     "--variant",
                                         "comm.max_ctas=4", "comm.register_gradients=true",
                                         "--max-bytes",     "1gb",
                                         "--factor",        "2",
                                         "--seconds",       "0.5",
                                         "--ranks",         "8",
                                         "--repeats",       "5",
                                         "--out",           "o",
                                         "--set",           "comm.timeout_s=9"});
  EXPECT_THAT(all.links, ElementsAre("nvlink", "pcie"));
  EXPECT_THAT(all.variants, ElementsAre("comm.max_ctas=4", "comm.register_gradients=true"));
  EXPECT_THAT(all.overrides, ElementsAre("comm.timeout_s=9"));
  EXPECT_EQ(all.max_bytes, std::int64_t{1} << 30);
  EXPECT_EQ(all.factor, 2);
  EXPECT_EQ(all.seconds_per_point, 0.5);
  EXPECT_EQ(all.ranks, 8);
  EXPECT_THROW(parsed<BenchOptions>({"bench", "--max-bytes", "many"}), InputError);
  EXPECT_THROW(parsed<BenchOptions>({"bench", "--factor", "1"}), InputError);
}

TEST(CommandLine, Report) {
  const auto defaults = parsed<ReportOptions>({"report", "a", "b.json"});
  EXPECT_THAT(defaults.inputs, ElementsAre("a", "b.json"));
  EXPECT_EQ(defaults.format, ReportFormat::Markdown);
  EXPECT_EQ(parsed<ReportOptions>({"report", "a", "--format", "csv"}).format, ReportFormat::Csv);
  EXPECT_EQ(parsed<ReportOptions>({"report", "--format", "md", "a"}).format, ReportFormat::Markdown);
}

TEST(CommandLine, Sweep) {
  const auto options =
      parsed<SweepOptions>({"sweep", "--config", "a", "comm.bucket_mb=1,4", "seed=1,2", "--repeats", "5",
                            "--budget", "1.5", "--fresh", "--hosts", "x:2", "--starter", "srun"});
  EXPECT_THAT(options.axes, ElementsAre("comm.bucket_mb=1,4", "seed=1,2"));
  EXPECT_EQ(options.repeats, 5);
  EXPECT_EQ(options.budget_minutes, 1.5);
  EXPECT_TRUE(options.fresh);
  EXPECT_EQ(options.launch.hosts, "x:2");
  EXPECT_EQ(options.launch.ranks, 0) << "all slots";
  EXPECT_EQ(parsed<SweepOptions>({"sweep", "--config", "a", "seed=1"}).launch.ranks, 2);
  EXPECT_EQ(options.launch.starter, Starter::Srun);
}

TEST(CommandLine, WhatMpirunCallsIsNotParsed) {
  EXPECT_THAT(parsed<AgentOptions>({"agent", "1", "ssh", "h", "orted", "--help"}).arguments,
              ElementsAre("1", "ssh", "h", "orted", "--help"));
  EXPECT_EQ(parsed<GuardOptions>({"guard", "orted --version"}).command, "orted --version");
}

TEST(CommandLine, EverySubcommandHasExamplesAndTellsItsExitStatus) {
  for (const auto* command : {"run", "compare", "sweep", "report", "doctor", "bench", "machine"})
    EXPECT_THAT(parsed<ShowText>({command, "--help"}).text,
                AllOf(HasSubstr("Examples:\n  launcher "), HasSubstr("Exit status"), HasSubstr(command)));
}

TEST(CommandLine, ShellsAndManKnowWhatHelpKnows) {
  const auto script = parsed<ShowText>({"completion"}).text;
  EXPECT_THAT(script, AllOf(HasSubstr("sweep) words=\""), HasSubstr("--budget"), HasSubstr("--hostfile")));
  const auto asked =
      script + "COMP_WORDS=(launcher sweep --bud); COMP_CWORD=2; _launcher; echo \"${COMPREPLY[@]}\"";
  EXPECT_EQ(output_of({"bash", "-c", asked}), "--budget\n");
  const auto page = parsed<ShowText>({"help-page"}).text;
  EXPECT_THAT(page, AllOf(testing::StartsWith(".TH LAUNCHER 1"), HasSubstr("\n.SH \"LAUNCHER SWEEP\"\n"),
                          HasSubstr("[SUBCOMMAND]")));
  EXPECT_THAT(page, testing::Not(HasSubstr("\n'")));
}

TEST(CommandLine, HelpAndVersion) {
  EXPECT_THAT(parsed<ShowText>({"--help"}).text,
              AllOf(HasSubstr("run"), HasSubstr("compare"), HasSubstr("report")));
  EXPECT_THAT(parsed<ShowText>({"compare", "--help"}).text, HasSubstr("tcp@0.5gbit+100us"));
  EXPECT_THAT(parsed<ShowText>({"run", "-h"}).text, HasSubstr("per physical core"));
  EXPECT_THAT(parsed<ShowText>({"--version"}).text,
              testing::MatchesRegex("launcher [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(CommandLine, WhatIsNotUnderstoodIsAnError) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"train"},
      {"run"},
      {"run", "--config"},
      {"run", "--config", "a", "--rank", "2"},
      {"run", "--config", "a", "--ranks", "0"},
      {"run", "--config", "a", "--ranks", "two"},
      {"run", "--config", "a", "more"},
      {"compare", "--config", "a"},
      {"compare", "--links", "shm"},
      {"compare", "--config", "a", "--links", "shm", "--repeats", "0"},
      {"sweep", "--config", "a"},
      {"sweep", "a=1"},
      {"sweep", "--config", "a", "a=1", "--budget", "0"},
      {"sweep", "--config", "a", "a=1", "--budget", "nan"},
      {"run", "--config", "a", "--starter", "ssh"},
      {"run", "--config", "a", "--dry-run", "--sbatch", "b"},
      {"machine", "--", "x"},
      {"compare", "--config", "a", "--links", "shm", "--accuracy-set", "a=b"},
      {"report"},
      {"report", "a", "--format", "pdf"},
      {"report", "a", "--", "b"},
      {"run", "--config", "a", "report", "b"}};
  for (const auto& arguments : wrong)
    EXPECT_THROW(parse_command_line(arguments), InputError) << testing::PrintToString(arguments);
}

TEST(LauncherProgram, EndsWithStatus2AndOneMessageOnWrongInput) {
  testing::internal::CaptureStderr();
  const auto ended =
      run_child({.command = {LAUNCHER, "report", "/no/such/file"}, .environment = {}, .log = {}});
  EXPECT_EQ(ended.exit_status, 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("error: [^\n]*\n( [^\n]*\n)+"));  // one block
}

TEST(LauncherProgram, ShowsItsVersion) {
  EXPECT_THAT(output_of({LAUNCHER, "--version"}), testing::StartsWith("launcher "));
}

}  // namespace
}  // namespace tandem

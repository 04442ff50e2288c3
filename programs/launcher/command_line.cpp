#include "launcher/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "core/error.h"
#include "launcher/help_text.h"
#include "launcher/shell_help.h"

namespace tandem {
namespace {

constexpr int kMostRanks = 1 << 16;
constexpr int kMostRepeats = 1000;

constexpr double kMostBytes = 0x1p40;
constexpr double kMostMinutes = 60.0 * 24 * 366;

// CLI::Range takes what is not a number.
CLI::Validator between(double least, double most) {
  return {[least, most](const std::string& text) {
            double number = 0;
            const bool is_number = CLI::detail::lexical_cast(text, number);
            if (is_number && number >= least && number <= most) return std::string();
            return fmt::format("a number from {} to {}, found \"{}\"", least, most, text);
          },
          "NUMBER"};
}

// What all commands that start ranks have; the config is each command's own.
void add_launch_options(CLI::App& command, LaunchOptions& launch, std::vector<std::string>& overrides,
                        std::filesystem::path& out) {
  command.add_option("--ranks", launch.ranks, "Number of ranks (default: one per GPU, or per physical core)")
      ->check(CLI::Range(1, kMostRanks))
      ->type_name("N");
  command.add_option("--set", overrides, "Override keys of the config: --set optim.lr=0.4 train.epochs=2")
      ->type_name("KEY=VALUE");
  command.add_option("--out", out, "Folder of the results")->type_name("DIR");
  command.add_option("--hostfile", launch.hostfile, "Open MPI hostfile: one \"node1 slots=2\" per line")
      ->type_name("FILE");
  command.add_option("--hosts", launch.hosts, "Hosts and their ranks: node1:2,node2:2")->type_name("LIST");
  command.add_option("--agent", launch.agent, "Starts a command on another host (default: ssh)")
      ->type_name("COMMAND");
  const std::map<std::string, Starter> starters = {{"mpirun", Starter::Mpirun}, {"srun", Starter::Srun}};
  command
      .add_option_function<std::string>(
          "--starter", [&launch, starters](const std::string& name) { launch.starter = starters.at(name); },
          "mpirun or, within a Slurm job, srun (default: mpirun)")
      ->check(CLI::IsMember(starters))
      ->type_name("PROGRAM");
  command.add_flag("!--no-doctor", launch.check_gpus, "Skip the look at the GPUs before a run on them");
  command
      .add_option_function<std::string>(
          "--bind", [&launch](const std::string& how) { launch.bind = how == "auto"; },
          "auto: ranks to cores; none: wherever the system likes (default: auto)")
      ->check(CLI::IsMember(std::vector<std::string>{"auto", "none"}))
      ->type_name("HOW");
}

constexpr const char* kConfigHelp =
    "Config file; also looked for in configs/ and among the configs that came with the program";

void add_run(CLI::App& app, RunOptions& options) {
  auto* run = app.add_subcommand("run", "Start the trainer's ranks; prints the command and runs it");
  run->add_option("--config", options.launch.config, kConfigHelp)->required()->type_name("FILE");
  add_launch_options(*run, options.launch, options.overrides, options.out);
  auto* dry = run->add_flag("--dry-run", options.dry_run, "Print placement, command and files only");
  run->add_option("--sbatch", options.sbatch, "Write a Slurm batch script instead of starting anything")
      ->excludes(dry)
      ->type_name("FILE");
  run->add_option("--minutes", options.minutes, "That the batch script asks for (default: 60)")
      ->check(CLI::Range(1, 60 * 24 * 366))
      ->type_name("N");
  run->add_option("--machine", options.launch.machine, "Plan for the machine of this file; with --dry-run")
      ->type_name("FILE");
  run->footer(run_help());
}

void add_repeats(CLI::App& command, int& repeats, bool& fresh) {
  command.add_option("--repeats", repeats, "Runs of each (default: 3)")
      ->check(CLI::Range(1, kMostRepeats))
      ->type_name("N");
  command.add_flag("--fresh", fresh, "Replace the runs that an earlier call left in the folder");
}

// "ranks=8" is 8.
int emulated_ranks(std::string_view text) {
  constexpr std::string_view kName = "ranks=";
  int ranks = 0;
  if (text.starts_with(kName)) {
    const auto number = text.substr(kName.size());
    const auto [rest, failed] = std::from_chars(number.data(), number.data() + number.size(), ranks);
    if (failed == std::errc() && rest == number.data() + number.size() && ranks >= 2) return ranks;
  }
  throw CLI::ValidationError("--emulate", fmt::format("ranks=N with N from 2 on, found \"{}\"", text));
}

void add_compare(CLI::App& app, CompareOptions& options) {
  options.launch.ranks = 2;
  auto* compare = app.add_subcommand("compare", "Train configs over several links; prints the speedups");
  compare->add_option("--config", options.configs, kConfigHelp)->required()->type_name("FILE");
  add_launch_options(*compare, options.launch, options.overrides, options.out);
  compare->get_option("--ranks")->description("Number of ranks (default: 2, or all slots of the hosts)");
  compare->get_option("--out")->description("Folder of the results (default: a new one in report.dir)");
  compare->add_option("--links", options.links, "Links to compare, see below")
      ->required()
      ->delimiter(',')
      ->type_name("LINKS");
  compare
      ->add_option_function<std::string>(
          "--emulate", [&options](const std::string& text) { options.emulate_ranks = emulated_ranks(text); },
          "One rank on a GPU stands for N on every link")
      ->excludes("--ranks")
      ->type_name("ranks=N");
  add_repeats(*compare, options.repeats, options.fresh);
  auto* accuracy = compare->add_flag("--accuracy-run", options.accuracy_run,
                                     "Also train once on the first link and evaluate");
  compare
      ->add_option("--accuracy-set", options.accuracy_overrides,
                   "Override keys for the accuracy run only, after --set")
      ->needs(accuracy)
      ->type_name("KEY=VALUE");
  compare->footer(compare_help());
}

void add_sweep(CLI::App& app, SweepOptions& options) {
  options.launch.ranks = 2;
  auto* sweep =
      app.add_subcommand("sweep", "Train one config at every combination of values; finds the best");
  sweep->add_option("keys", options.axes, "Keys with their values: comm.bucket_mb=1,4,8")
      ->required()
      ->type_name("KEY=V1,V2,…");
  sweep->add_option("--config", options.launch.config, kConfigHelp)->required()->type_name("FILE");
  add_launch_options(*sweep, options.launch, options.overrides, options.out);
  sweep->get_option("--ranks")->description("Number of ranks (default: 2, or all slots of the hosts)");
  sweep->get_option("--out")->description("Folder of the results (default: NAME-sweep in report.dir)");
  add_repeats(*sweep, options.repeats, options.fresh);
  sweep->add_option("--budget", options.budget_minutes, "Minutes that the sweep may take (default: no limit)")
      ->check(between(0.01, kMostMinutes))
      ->type_name("MINUTES");
  sweep->footer(sweep_help());
}

void add_report(CLI::App& app, ReportOptions& options) {
  auto* report = app.add_subcommand("report", "Show run records, comparisons and sweeps of earlier runs");
  report->add_option("inputs", options.inputs, "record.json, compare.json, …, or folders that hold them")
      ->required()
      ->type_name("PATH");
  report
      ->add_option_function<std::string>(
          "--format",
          [&options](const std::string& name) {
            options.format = name == "csv"    ? ReportFormat::Csv
                             : name == "html" ? ReportFormat::Html
                                              : ReportFormat::Markdown;
          },
          "md, csv or html (default: md)")
      ->check(CLI::IsMember(std::vector<std::string>{"md", "csv", "html"}))
      ->type_name("FORMAT");
  report->add_flag_callback(
      "--html", [&options] { options.format = ReportFormat::Html; },
      "As a page for a browser: launcher report --html runs/x > x.html");
  report->footer(report_help());
}

void add_doctor(CLI::App& app, DoctorOptions& options) {
  auto* doctor = app.add_subcommand("doctor", "Look for what is wrong with this machine");
  doctor->add_option("--ranks", options.ranks, "Ranks of the job in question (default: see below)")
      ->check(CLI::Range(1, kMostRanks))
      ->type_name("N");
  doctor->add_flag("--all-ways", options.all_ways,
                   "Also measure pairs of GPUs both ways at once, and copies by a kernel");
  doctor->add_flag("--json", options.json, "Print JSON: verdict, findings and all facts");
  doctor->add_option("--machine", options.machine, "Judge the machine of this file instead; tests nothing")
      ->type_name("FILE");
  doctor->footer(doctor_help());
}

void add_bench(CLI::App& app, BenchOptions& options) {
  auto* bench = app.add_subcommand("bench", "Measure what each link gives, without training");
  bench->add_option("--links", options.links, "Links to measure (default: nvlink,pcie or shm,tcp,paced)")
      ->delimiter(',')
      ->type_name("LINKS");
  bench->add_option("--variant", options.variants, "Measure every link once more with this key set")
      ->type_name("KEY=VALUE");
  bench->add_option("--set", options.overrides, "Set keys of comm and device for all runs")
      ->type_name("KEY=VALUE");
  bench->add_option("--ranks", options.ranks, "Number of ranks (default: one per GPU, or physical core)")
      ->check(CLI::Range(1, kMostRanks))
      ->type_name("N");
  bench->add_option("--repeats", options.repeats, "Runs of every link, interleaved (default: 3)")
      ->check(CLI::Range(1, kMostRepeats))
      ->type_name("N");
  bench
      ->add_option("--max-bytes", options.max_bytes,
                   "Largest size, as 64kb or 1gb (default: 32mb, GPUs: 1gb)")
      ->transform(CLI::AsSizeValue(false))
      ->check(between(8, kMostBytes))
      ->type_name("SIZE");
  bench->add_option("--factor", options.factor, "From one size to the next (default: 4)")
      ->check(CLI::Range(2, 1024))
      ->type_name("N");
  bench->add_option("--seconds", options.seconds_per_point, "For each size (default: 0.2)")
      ->check(between(0.001, 3600.0))
      ->type_name("S");
  bench->add_option("--out", options.out, "Folder of the results (default: a new one in runs/)")
      ->type_name("DIR");
  bench->footer(bench_help());
}

[[noreturn]] void fail(std::string what, std::string found, std::string advice) {
  throw InputError({.what = std::move(what),
                    .where = "the command line",
                    .expected = {},
                    .found = std::move(found),
                    .advice = std::move(advice)});
}

// Text to show instead of doing anything, if that was asked for. CLI11 takes the last word first.
std::optional<ShowText> parse_words(CLI::App& app, std::vector<std::string> last_first) {
  try {
    app.parse(last_first);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return ShowText{chosen.empty() ? app.help() : chosen.front()->help("launcher")};
  } catch (const CLI::CallForVersion& version) {
    return ShowText{std::string(version.what()) + '\n'};
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const std::string name = chosen.empty() ? "" : chosen.front()->get_name() + ' ';
    fail(error.what(), {}, "see launcher " + name + "--help");
  }
  return std::nullopt;
}

// Without --ranks, two on this host, but all slots of hosts that are named.
void choose_ranks(const CLI::App& command, LaunchOptions& launch) {
  const bool on_hosts = !launch.hosts.empty() || !launch.hostfile.empty();
  if (on_hosts && command.get_option("--ranks")->count() == 0) launch.ranks = 0;
}

}  // namespace

Command parse_command_line(const std::vector<std::string>& arguments) {
  // Their arguments are other programs' and may be anything.
  if (!arguments.empty() && arguments.front() == "agent")
    return AgentOptions{{arguments.begin() + 1, arguments.end()}};
  if (arguments.size() == 2 && arguments.front() == "guard") return GuardOptions{arguments.back()};

  CLI::App app("Starts, compares and shows training runs, and looks at the machine.", "launcher");
  app.set_version_flag("--version", "launcher " TANDEM_VERSION);
  app.require_subcommand(0, 1);  // none is told below, in better words
  app.footer(launcher_help());
  RunOptions run;
  CompareOptions compare;
  SweepOptions sweep;
  ReportOptions report;
  DoctorOptions doctor;
  BenchOptions bench;
  add_run(app, run);
  add_compare(app, compare);
  add_sweep(app, sweep);
  add_report(app, report);
  add_doctor(app, doctor);
  add_bench(app, bench);
  app.add_subcommand("machine", "Print what this machine is made of, as JSON")->footer(machine_help());
  app.add_subcommand("completion", "Print a completion script for bash: source <(launcher completion)");
  app.add_subcommand("help-page", "")->group("");  // for the build

  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  std::vector<std::string> own(std::make_reverse_iterator(dashes), arguments.rend());
  std::vector<std::string> for_mpirun;
  if (dashes != arguments.end()) for_mpirun.assign(dashes + 1, arguments.end());
  if (auto text = parse_words(app, std::move(own))) return *text;

  choose_ranks(*app.get_subcommand("compare"), compare.launch);
  choose_ranks(*app.get_subcommand("sweep"), sweep.launch);
  run.launch.mpirun_extra = for_mpirun;
  compare.launch.mpirun_extra = for_mpirun;
  sweep.launch.mpirun_extra = for_mpirun;
  doctor.mpirun_extra = for_mpirun;
  bench.mpirun_extra = for_mpirun;
  if (app.got_subcommand("run")) return run;
  if (app.got_subcommand("compare")) return compare;
  if (app.got_subcommand("sweep")) return sweep;
  if (app.got_subcommand("doctor")) return doctor;
  if (app.got_subcommand("bench")) return bench;
  const auto chosen = app.get_subcommands();
  if (chosen.empty())
    fail("The launcher needs to know what to do.", {},
         "give it run, compare, sweep, report, doctor, bench or machine; see launcher --help");
  if (!for_mpirun.empty())
    fail(fmt::format("launcher {} starts no mpirun.", chosen.front()->get_name()), "arguments after --",
         "leave them out");
  if (app.got_subcommand("machine")) return MachineOptions{};
  if (app.got_subcommand("completion")) return ShowText{bash_completion(app)};
  if (app.got_subcommand("help-page")) {
    app.clear();  // else its help is that of the subcommand
    return ShowText{manual_page(app)};
  }
  return report;
}

}  // namespace tandem

// Takes the trainer's arguments and leaves what the trainer would, without training. The key "seed" chooses
// what goes wrong:
//   101  exits with status 3 on the tcp link     102  leaves no record     103  leaves a broken record
//   104  makes the file "waiting", waits for SIGTERM, makes the file "ended" and exits with status 7
//   105  the accuracy run, the one that evaluates, exits with status 4
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "report/example_record.h"

namespace tandem {
namespace {

struct Arguments {
  std::map<std::string, std::string> set;
  std::filesystem::path out = ".";
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = argv[i + 1];
    const auto equals = value.find('=');
    if (flag == "--set") arguments.set[value.substr(0, equals)] = value.substr(equals + 1);
    if (flag == "--out") arguments.out = value;
  }
  return arguments;
}

std::string text(const Arguments& arguments, const std::string& key) {
  const auto found = arguments.set.find(key);
  return found == arguments.set.end() ? "" : found->second;
}

double number(const Arguments& arguments, const std::string& key) {
  const auto value = text(arguments, key);
  return value.empty() ? 0.0 : std::stod(value);
}

RunRecord record_of(const Arguments& arguments) {
  RunRecord record = example_record();
  record.link.asked = text(arguments, "comm.link");
  record.link.transport_found = record.link.asked;
  record.link.paced.reset();
  const double gbit = number(arguments, "comm.pace_gbit");
  if (gbit > 0.0)
    record.link.paced =
        LinkModelRecord{.latency_us = number(arguments, "comm.pace_latency_us"), .gbit_per_s = gbit};
  if (text(arguments, "comm.schedule") == "after") record.reduction.schedule = "after";
  if (text(arguments, "train.eval_every") == "0") record.results.reset();
  record.name = text(arguments, "report.name");
  for (const auto& [key, value] : arguments.set) record.notes.push_back(key + "=" + value);
  // shm is twice as fast.
  for (auto& epoch : record.epochs) epoch.wall_s = record.link.asked == "shm" ? 1.0 : 2.0;
  return record;
}

int wait_for_sigterm(const std::filesystem::path& out) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGTERM);
  sigprocmask(SIG_BLOCK, &awaited, nullptr);
  std::ofstream(out / "waiting").flush();
  int signal = 0;
  sigwait(&awaited, &signal);
  std::ofstream(out / "ended").flush();
  return 7;
}

int train(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  const int fault = static_cast<int>(number(arguments, "seed"));
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (rank != nullptr && std::string(rank) != "0") return 0;

  std::printf("to standard output\n");
  std::fprintf(stderr, "step 1\rstep 2\nterminal %s\n",
               std::getenv("TANDEM_TERMINAL") ? std::getenv("TANDEM_TERMINAL") : "none");
  if (fault == 101 && text(arguments, "comm.link") == "tcp") return 3;
  if (fault == 102) return 0;
  if (fault == 104) return wait_for_sigterm(arguments.out);
  if (fault == 105 && text(arguments, "train.eval_every") != "0") return 4;
  if (fault == 103) {
    std::ofstream(arguments.out / "record.json") << "{";
    return 0;
  }
  write_run_record(record_of(arguments), arguments.out / "record.json");
  return 0;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  return tandem::train(argc, argv);
}

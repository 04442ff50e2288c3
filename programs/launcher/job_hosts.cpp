#include "launcher/job_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <sstream>

#include "core/error.h"
#include "environment/shell_quoting.h"
#include "launcher/child_process.h"
#include "launcher/gathering.h"
#include "launcher/machine.h"
#include "machine/machine_json.h"
#include "report/atomic_file.h"

namespace tandem {
namespace {

// The words of `command` with its standard error in its standard output and nothing to read.
std::vector<std::string> with_one_output(const std::vector<std::string>& command) {
  std::vector<std::string> words = {"sh", "-c", "exec \"$@\" 2>&1 < /dev/null", "sh"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::vector<std::string> question(const LaunchOptions& options, const std::string& host) {
  const auto launcher = options.trainer.parent_path() / "launcher";
  return agent_command(options.agent, host,
                       shell_quoted(std::vector<std::string>{launcher.string(), "machine"}));
}

std::string last_line(const std::string& text) {
  std::istringstream lines(text);
  std::string last = fmt::format("no answer within {} s", kHostAnswer_s);
  for (std::string line; std::getline(lines, line);)
    if (line.find_first_not_of(" \r") != std::string::npos) last = line;
  return last;
}

[[noreturn]] void fail(const LaunchOptions& options, const std::vector<std::string>& hosts,
                       const std::string& found) {
  const auto by_hand = question(options, hosts.front());
  throw InputError({.what = hosts.size() == 1 ? "A host of the job cannot be used."
                                              : "Some hosts of the job cannot be used.",
                    .where = fmt::format("{}", fmt::join(hosts, ", ")),
                    .expected = "an answer through the agent from the launcher in the same folder there",
                    .found = found,
                    .advice = "try it by hand: " + shell_quoted(by_hand)});
}

bool is_this_host(const std::string& name, const Host& here) {
  return name == "localhost" || name.starts_with("127.") || name == here.name ||
         name == here.name.substr(0, here.name.find('.'));
}

// mpirun tells hosts apart by the names that they give themselves.
void refuse_two_names_of_one(const std::vector<KnownHost>& known) {
  for (std::size_t i = 0; i < known.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (known[i].machine.name != known[j].machine.name) continue;
      throw InputError(
          {.what = "Two hosts of the job have one name.",
           .where = fmt::format("{} and {}", known[j].slots.name, known[i].slots.name),
           .expected = "each host once, and hosts whose own names differ",
           .found = fmt::format("both call themselves {}", known[i].machine.name),
           .advice =
               "if they are one host, give it once with all its slots; else rename one (hostname NAME)"});
    }
  }
}

std::vector<HostSlots> named_hosts(const LaunchOptions& options) {
  if (!options.hostfile.empty() && !options.hosts.empty())
    throw InputError({.what = "The hosts of the job are given twice.",
                      .where = "--hostfile and --hosts",
                      .expected = "one of them",
                      .found = "both",
                      .advice = "leave one out"});
  if (!options.hosts.empty()) return parse_host_list(options.hosts);
  return parse_hostfile(read_file(options.hostfile), options.hostfile.string());
}

}  // namespace

bool names_hosts(const LaunchOptions& options) {
  return !options.hostfile.empty() || !options.hosts.empty();
}

Host machine_in_answer(const std::string& answer, const std::string& host) {
  // As render_json() writes it; what a login prints, before or after, may hold braces of its own.
  const auto begin = answer.find(fmt::format("{{\n  \"schema\": \"{}\"", Machine::kSchema));
  if (begin == std::string::npos) throw Error("launcher", "machine", last_line(answer));
  constexpr std::string_view kEnd = "\n}\n";
  const auto end = std::min(answer.find(kEnd, begin), answer.size());
  return machine_from_json(std::string_view(answer).substr(begin, end + kEnd.size() - begin), host)
      .hosts.front();
}

std::vector<KnownHost> look_at_hosts(const LaunchOptions& options) {
  const auto recorded = options.machine.empty() ? std::nullopt : std::optional(read_machine(options.machine));
  const Host here = recorded ? recorded->hosts.front() : this_host();
  std::vector<KnownHost> known;
  if (!names_hosts(options)) {
    known.emplace_back().machine = here;
    known.front().slots.name = "localhost";
    return known;
  }

  const auto hosts = named_hosts(options);
  std::vector<std::future<std::string>> answers;
  for (const auto& host : hosts)
    answers.push_back(
        is_this_host(host.name, here) || recorded
            ? std::future<std::string>()
            : std::async(std::launch::async, output_of, with_one_output(question(options, host.name))));
  std::vector<std::string> unusable;
  std::string found;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    KnownHost entry{.slots = hosts[i], .machine = here};
    if (answers[i].valid()) {
      const auto answer = answers[i].get();
      try {
        entry.machine = machine_in_answer(answer, hosts[i].name);
      } catch (const std::exception&) {
        unusable.push_back(hosts[i].name);
        found = last_line(answer);
      }
    }
    known.push_back(std::move(entry));
  }
  if (!unusable.empty()) fail(options, unusable, found);
  if (!recorded) refuse_two_names_of_one(known);
  return known;
}

}  // namespace tandem

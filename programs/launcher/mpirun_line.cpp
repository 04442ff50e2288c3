#include "launcher/mpirun_line.h"

#include <fmt/format.h>

#include <charconv>

#include "core/error.h"

namespace tandem {
namespace {

constexpr int kWithPrrte = 5;  // the first major version whose mpirun is PRRTE's prterun

// As long as every rank can have a core, each gets its share of them for all its threads: the communication
// thread then takes time from its own rank's computation only, all ranks are slowed down alike, and no rank
// wanders onto another's core, which is what makes repeats agree.
std::vector<std::string> placement_flags(const MpirunRequest& request) {
  switch (request.binding) {
    case Binding::None:
      // mpirun counts one slot per core, and refuses more ranks than slots unless told.
      if (request.oversubscribe) return {"--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"};
      return {"--bind-to", "none"};
    case Binding::Plain:
      return {"--map-by", fmt::format("slot:PE={}", request.cores_per_rank), "--bind-to", "core"};
    case Binding::Rankfile:
      if (request.open_mpi_major < kWithPrrte) return {"--rankfile", request.rankfile.string()};
      return {"--map-by", "rankfile:file=" + request.rankfile.string()};
  }
  return {};
}

std::vector<std::string> host_flags(const MpirunRequest& request) {
  std::vector<std::string> flags;
  if (!request.hostfile.empty()) flags = {"--hostfile", request.hostfile.string()};
  if (!request.agent.empty()) {
    const bool with_orte = request.open_mpi_major < kWithPrrte;
    flags.insert(flags.end(), {with_orte ? "--mca" : "--prtemca",
                               with_orte ? "plm_rsh_agent" : "plm_ssh_agent", request.agent});
  }
  return flags;
}

}  // namespace

MpirunRequest on_cores(int ranks, int cores) {
  TANDEM_EXPECT(ranks >= 1 && cores >= 1, "{} ranks on {} cores", ranks, cores);
  const bool bound = ranks > 1 && ranks <= cores;
  return {.ranks = ranks,
          .oversubscribe = ranks > cores,
          .binding = bound ? Binding::Plain : Binding::None,
          .cores_per_rank = bound ? cores / ranks : 1};
}

std::vector<std::string> mpirun_line(const MpirunRequest& request) {
  TANDEM_EXPECT(request.ranks >= 1 && request.cores_per_rank >= 1, "{} ranks with {} cores each",
                request.ranks, request.cores_per_rank);
  std::vector<std::string> line = {"mpirun", "-np", fmt::format("{}", request.ranks)};
  const auto append = [&line](const std::vector<std::string>& words) {
    line.insert(line.end(), words.begin(), words.end());
  };
  if (request.root) line.emplace_back("--allow-run-as-root");
  append(host_flags(request));
  append(placement_flags(request));
  for (const auto& variable : request.environment) append({"-x", variable});
  append(request.extra);
  append(request.program);
  return line;
}

int open_mpi_major_version(std::string_view version_text) {
  constexpr std::string_view kMark = "(Open MPI) ";
  const auto at = version_text.find(kMark);
  if (at == std::string_view::npos) return 0;
  const auto digits = version_text.substr(at + kMark.size());
  int version = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), version);
  return version;
}

}  // namespace tandem

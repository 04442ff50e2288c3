#include "launcher/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "core/hash.h"
#include "environment/environment.h"
#include "launcher/doctor.h"
#include "launcher/gathering.h"
#include "launcher/job_hosts.h"
#include "launcher/machine.h"
#include "launcher/mpirun_line.h"
#include "launcher/slurm.h"
#include "report/atomic_file.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";
#ifdef TANDEM_WITH_CUDA
constexpr bool kWithCuda = true;
#else
constexpr bool kWithCuda = false;
#endif

void require_trainer(const fs::path& trainer) {
  std::error_code ignored;  // what cannot be looked at is not there
  if (fs::is_regular_file(trainer, ignored)) return;
  throw InputError({.what = "The trainer is missing.",
                    .where = trainer.string(),
                    .expected = "the program trainer beside the launcher",
                    .found = "no such file",
                    .advice = "build all programs: scripts/build.sh build"});
}

// The GPUs that ranks may use, in the order that CUDA gives them. None: the user's variable names them in a
// way that only the driver understands (by UUID), so neither their number nor their place is known here.
std::optional<std::vector<int>> usable_gpus(const Host& host) {
  std::vector<int> gpus;
  const auto visible = environment_variable(kVisible);
  if (!visible) {
    for (const auto& gpu : host.gpus) gpus.push_back(gpu.index);
    return gpus;
  }
  std::istringstream parts(*visible);
  for (std::string part; std::getline(parts, part, ',');) {
    int index = 0;
    const auto [rest, failed] = std::from_chars(part.data(), part.data() + part.size(), index);
    if (failed != std::errc() || rest != part.data() + part.size()) return std::nullopt;
    if (std::ranges::find(host.gpus, index, &Gpu::index) == host.gpus.end()) break;  // as CUDA does
    gpus.push_back(index);
  }
  return gpus;
}

// Plans a job host by host.
class Planner {
 public:
  Planner(const LaunchOptions& options, const RunConfig& config) : options_(options), config_(config) {}

  void plan(Launch& launch) const {
    auto known = look_at_hosts(options_);
    const bool gpus = on_gpus(known);
    std::vector<HostSlots> hosts;
    for (auto& host : known) {
      if (host.slots.slots == 0) host.slots.slots = names_hosts(options_) ? capacity(host.machine, gpus) : 0;
      hosts.push_back(host.slots);
    }
    launch.one_host = !names_hosts(options_);
    if (launch.one_host) {
      hosts.front().slots = options_.ranks > 0 ? options_.ranks : capacity(known.front().machine, gpus);
    } else {
      hosts = fill_hosts(hosts, options_.ranks);
    }
    launch.ranks = 0;
    for (std::size_t h = 0; h < hosts.size(); ++h) {
      refuse_too_many(known[h].machine, hosts[h], gpus);
      launch.ranks += hosts[h].slots;
      launch.hosts.push_back(place(known[h].machine, hosts[h], gpus));
    }
    if (gpus) launch.environment = gpu_variables(launch.hosts);
  }

 private:
  bool on_gpus(const std::vector<KnownHost>& hosts) const {
    if (config_.device.kind == DeviceConfig::Kind::Cpu) return false;
    const auto without =
        std::ranges::find_if(hosts, [](const KnownHost& h) { return h.machine.gpus.empty(); });
    const bool usable = kWithCuda || !options_.machine.empty();
    if (usable && without == hosts.end()) return true;
    const bool emulated = config_.comm.backend == CommConfig::Backend::Emulated;
    if (config_.device.kind == DeviceConfig::Kind::Auto && !emulated) return false;
    throw InputError(
        {.what = "this configuration trains on GPUs, and there is none to train on",
         .where = emulated ? "comm.backend emulated" : "device.kind",
         .expected = "GPUs on every host, or a configuration for CPU ranks",
         .found = !usable ? "these programs were built without CUDA"
                          : fmt::format("{}: {}", without->machine.name, without->machine.no_gpu_reason),
         .advice = "run the CPU configuration instead: launcher run --config fashion_resnet.yaml"});
  }

  int capacity(const Host& machine, bool gpus) const {
    if (!gpus) return static_cast<int>(machine.cores.size());
    if (config_.comm.backend == CommConfig::Backend::Emulated) return 1;  // stands for all
    const auto usable = usable_gpus(machine);
    return usable ? std::max(static_cast<int>(usable->size()), 1) : static_cast<int>(machine.gpus.size());
  }

  void refuse_too_many(const Host& machine, const HostSlots& host, bool gpus) const {
    const int room = capacity(machine, gpus);
    if (gpus && host.slots > room && !config_.gpu.share)
      throw InputError(
          {.what = "There are more ranks on a host than GPUs.",
           .where = fmt::format("{} (--ranks, or the slots of the host)", machine.name),
           .expected = fmt::format("at most {}, one per GPU", room),
           .found = fmt::format("{} ranks", host.slots),
           .advice =
               "start fewer ranks; let them share GPUs with --set gpu.share=true; or let one rank stand "
               "for several with --set comm.backend=emulated"});
    refuse_far_too_many_ranks(host.slots, static_cast<int>(machine.cores.size()), machine.name);
  }

  JobHost place(const Host& machine, const HostSlots& host, bool gpus) const {
    JobHost job{.name = host.name, .machine = machine};
    const auto unbound = std::vector<RankPlace>(static_cast<std::size_t>(host.slots));
    const auto usable = gpus ? usable_gpus(machine) : std::nullopt;
    if (!gpus) {
      job.places = place_cpu_ranks(machine, host.slots);
    } else if (!usable || usable->empty()) {
      job.places = unbound;
    } else {
      const auto count = std::min(host.slots, static_cast<int>(usable->size()));
      const auto order = environment_variable(kVisible)
                             ? std::vector<int>(usable->begin(), usable->begin() + count)
                             : ring_order(machine, count);
      job.places = place_gpu_ranks(machine, host.slots, order);
    }
    if (!options_.bind || options_.starter == Starter::Srun)
      for (auto& rank : job.places) rank.cores.clear();
    return job;
  }

  // Rank r of a host takes the GPU that CUDA numbers r, so the order goes into CUDA's numbering: of GPUs by
  // their bus, as the driver numbers them, and then by the list. It can be one for all hosts only.
  static std::vector<std::string> gpu_variables(std::vector<JobHost>& hosts) {
    const auto order_of = [](const JobHost& host) {
      std::vector<int> order;
      for (const auto& place : host.places)
        if (place.gpu && std::ranges::find(order, *place.gpu) == order.end()) order.push_back(*place.gpu);
      return order;
    };
    const auto order = order_of(hosts.front());
    const bool alike = std::ranges::all_of(hosts, [&](const JobHost& h) { return order_of(h) == order; });
    const bool as_numbered = std::ranges::is_sorted(order) && (order.empty() || order.front() == 0) &&
                             (order.empty() || order.back() == static_cast<int>(order.size()) - 1);
    if (environment_variable(kVisible) || order.empty()) return {};
    if (!alike || as_numbered) return {"CUDA_DEVICE_ORDER=PCI_BUS_ID"};
    return {"CUDA_DEVICE_ORDER=PCI_BUS_ID", fmt::format("{}={}", kVisible, fmt::join(order, ","))};
  }

  const LaunchOptions& options_;
  const RunConfig& config_;
};

Binding binding_of(const Launch& launch) {
  const bool bound = std::ranges::all_of(launch.hosts, [](const JobHost& host) {
    return std::ranges::all_of(host.places, [](const RankPlace& place) { return !place.cores.empty(); });
  });
  if (!bound) return Binding::None;
  return launch.one_host && is_plain(launch.hosts.front().places) ? Binding::Plain : Binding::Rankfile;
}

std::string rankfile_text(const Launch& launch) {
  std::string text;
  int rank = 0;
  for (const auto& host : launch.hosts)
    for (const auto& place : host.places)
      text += fmt::format("rank {}={} slot={}\n", rank++, host.name, number_ranges(place.cores));
  return text;
}

std::vector<HostSlots> slots_of(const Launch& launch) {
  std::vector<HostSlots> slots;
  for (const auto& host : launch.hosts)
    slots.push_back({.name = host.name, .slots = static_cast<int>(host.places.size())});
  return slots;
}

// mpirun splits it at blanks. The number says how many words are the agent's own.
std::string guarding_agent(const Launch& launch) {
  const auto words = agent_words(launch.agent);
  return fmt::format("{} agent {} {}", (launch.trainer.parent_path() / "launcher").string(), words.size(),
                     fmt::join(words, " "));
}

std::vector<std::string> program_of(const Launch& launch, std::span<const std::string> overrides,
                                    const fs::path& folder) {
  std::vector<std::string> program = {launch.trainer.string(), "--config", launch.config.string()};
  for (const auto& override : overrides) {
    program.emplace_back("--set");
    program.push_back(override);
  }
  program.insert(program.end(), {"--out", folder.string()});
  return program;
}

}  // namespace

Launch prepare_launch(const LaunchOptions& options, std::span<const std::string> overrides) {
  Launch launch{.config = find_config(options.config, options.config_directories),
                .root = runs_as_root(),
                .starter = options.starter,
                .agent = options.agent,
                .mpirun_extra = options.mpirun_extra,
                .trainer = options.trainer};
  const auto config = load_run_config(launch.config, overrides);
  require_trainer(launch.trainer);
  launch.trainer_hash = hash_bytes(read_file(launch.trainer));
  if (launch.starter == Starter::Mpirun) {
    launch.open_mpi_major = require_open_mpi();
  } else {
    require_slurm();
  }
  Planner(options, config).plan(launch);
  return launch;
}

std::vector<std::string> launch_command(const Launch& launch, std::span<const std::string> overrides,
                                        const fs::path& folder) {
  if (launch.starter == Starter::Srun) return srun_line(slurm_job(launch, overrides, folder));
  const auto& places = launch.hosts.front().places;
  return mpirun_line(
      {.ranks = launch.ranks,
       .open_mpi_major = launch.open_mpi_major,
       .root = launch.root,
       .oversubscribe = launch.ranks > 1 && places.size() > launch.hosts.front().machine.cores.size(),
       .binding = binding_of(launch),
       .cores_per_rank = std::max(1, static_cast<int>(places.front().cores.size())),
       .rankfile = folder / "rankfile.txt",
       .hostfile = launch.one_host ? fs::path() : folder / "hosts.txt",
       .agent = launch.one_host ? std::string() : guarding_agent(launch),
       .environment = launch.environment,
       .extra = launch.mpirun_extra,
       .program = program_of(launch, overrides, folder)});
}

SlurmRequest slurm_job(const Launch& launch, std::span<const std::string> overrides, const fs::path& folder) {
  const auto& first = launch.hosts.front();
  const auto ranks = static_cast<int>(first.places.size());
  return {.nodes = static_cast<int>(launch.hosts.size()),
          .ranks_per_node = ranks,
          .cores_per_rank = std::max(1, static_cast<int>(first.machine.cores.size()) / ranks),
          .gpus_per_node = first.places.front().gpu ? ranks : 0,
          .environment = launch.environment,
          .extra = launch.mpirun_extra,
          .program = program_of(launch, overrides, folder)};
}

std::vector<std::pair<std::string, std::string>> launch_files(const Launch& launch) {
  std::vector<std::pair<std::string, std::string>> files;
  if (launch.starter == Starter::Srun) return files;
  if (!launch.one_host) files.emplace_back("hosts.txt", hostfile_text(slots_of(launch)));
  if (binding_of(launch) == Binding::Rankfile) files.emplace_back("rankfile.txt", rankfile_text(launch));
  return files;
}

void write_launch_files(const Launch& launch, const fs::path& folder) {
  for (const auto& [name, text] : launch_files(launch)) write_file_atomically(folder / name, text);
}

std::vector<std::string> describe_placement(const Launch& launch) {
  std::vector<std::string> lines;
  int rank = 0;
  const bool worth_it =
      !launch.one_host || launch.hosts.front().places.front().gpu || binding_of(launch) == Binding::Rankfile;
  if (!worth_it) return lines;
  for (const auto& host : launch.hosts) {
    for (const auto& line : describe(host.places, host.machine, rank))
      lines.push_back(launch.one_host ? line : fmt::format("{}: {}", host.name, line));
    rank += static_cast<int>(host.places.size());
  }
  return lines;
}

void check_gpus(const LaunchOptions& options, const Launch& launch, const RunConfig& config) {
  if (!options.check_gpus || config.device.kind == DeviceConfig::Kind::Cpu) return;
  require_healthy_gpus(static_cast<int>(launch.hosts.front().places.size()), options.probe);
}

std::vector<std::string> terminal_environment() {
  const Terminal terminal = error_terminal();
  if (!terminal.connected) return {};
  return {fmt::format("{}={}", kTerminalVariable, terminal.width)};
}

}  // namespace tandem

#include "report/record_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "report/conclusions.h"
#include "report/config_text.h"
#include "report/run_summary.h"
#include "report/table_text.h"

namespace tandem {
namespace {

constexpr std::size_t kStretches = 10;

using Facts = std::map<std::string, std::string>;

class Changes {
 public:
  explicit Changes(std::vector<ChangedFact>& changed) : changed_(changed) {}

  void compare(const std::string& where, const Facts& a, const Facts& b) {
    Facts all = a;
    all.insert(b.begin(), b.end());
    for (const auto& [what, ignored] : all) {
      const auto in_a = a.find(what), in_b = b.find(what);
      ChangedFact fact{where, what, in_a == a.end() ? "" : in_a->second, in_b == b.end() ? "" : in_b->second};
      if (fact.a != fact.b) changed_.push_back(std::move(fact));
    }
  }

 private:
  std::vector<ChangedFact>& changed_;
};

Facts config_of(const RunRecord& run) {
  auto config = config_values(run.config);
  // Where results go and what they are called changes nothing.
  std::erase_if(config, [](const auto& key) { return key.first.starts_with("report."); });
  return config;
}

std::string gpus_of(const HostTopologyRecord& host) {
  std::vector<std::string> gpus;
  for (const auto& gpu : host.gpus) gpus.push_back(fmt::format("{} {}", gpu.name, gpu.pcie));
  return fmt::format("{}", fmt::join(gpus, "; "));
}

std::string gpu_paths_of(const HostTopologyRecord& host) {
  std::vector<std::string> paths;
  for (const auto& path : host.gpu_paths)
    paths.push_back(fmt::format("{}-{} {}", path.from, path.to, path.path));
  return fmt::format("{}", fmt::join(paths, ", "));
}

std::string places_of(const HostTopologyRecord& host) {
  std::vector<std::string> places;
  for (const auto& rank : host.ranks)
    places.push_back(rank.gpu ? fmt::format("rank {} on GPU {}", rank.rank, *rank.gpu)
                              : fmt::format("rank {} on {} cores", rank.rank, rank.cores.size()));
  return fmt::format("{}", fmt::join(places, ", "));
}

void add_insides(const std::vector<HostTopologyRecord>& hosts, Facts& facts) {
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    const auto prefix = hosts.size() == 1 ? std::string("host") : fmt::format("host {}", h);
    facts[prefix + ": NUMA nodes"] = fmt::format("{}", hosts[h].numa_nodes.size());
    facts[prefix + ": GPUs"] = gpus_of(hosts[h]);
    facts[prefix + ": between GPUs"] = gpu_paths_of(hosts[h]);
    facts[prefix + ": places"] = places_of(hosts[h]);
  }
}

Facts topology_facts(const std::vector<HostRecord>& hosts, const std::vector<HostTopologyRecord>& insides,
                     int world_size) {
  Facts facts{{"ranks", fmt::format("{}", world_size)}, {"hosts", fmt::format("{}", hosts.size())}};
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    const auto& host = hosts[h];
    const auto prefix = hosts.size() == 1 ? std::string("host") : fmt::format("host {}", h);
    facts[prefix] = host.name;
    facts[prefix + ": processor"] = host.processor;
    facts[prefix + ": cores"] = fmt::format("{}", host.cores);
    facts[prefix + ": ranks"] = fmt::format("{}", host.ranks);
  }
  add_insides(insides, facts);
  return facts;
}

Facts work_facts(const ModelRecord& model, const BatchRecord& batch, const ReductionRecord& reduction) {
  return {{"model", model.name},
          {"parameters", with_thousands(model.parameters)},
          {"global batch", fmt::format("{} {}", batch.global, batch.item)},
          {"micro-batch", fmt::format("{}", batch.micro)},
          {"accumulation", fmt::format("{}", batch.accumulation)},
          {"grouping", reduction.grouping},
          {"schedule", reduction.schedule},
          {"update", reduction.update_order}};
}

Facts link_facts(const RunRecord& run) {
  return {{"transport found", with_caveats(run.link.transport_found, caveats(run))},
          {"communicator", run.link.description},
          {"buckets", fmt::format("{}", run.buckets.size())},
          {"bytes reduced per step", with_thousands(reduced_bytes_per_step(run))}};
}

std::optional<Spread> over(const std::vector<double>& values) {
  const auto statistics = statistics_of(std::span<const double>(values));
  return statistics ? std::optional(spread_of(*statistics)) : std::nullopt;
}

struct Ranged {
  Spread spread;
  bool has_range = false;
};

// Means of equal stretches of the measured steps, over all ranks: single steps scatter, and neighbours alike.
std::optional<Ranged> over_stretches(const RunRecord& run, Samples RankTimingRecord::*samples) {
  if (run.timing.empty()) return std::nullopt;
  const auto begin = static_cast<std::size_t>(run.warmup_steps);
  const auto end = (run.timing.front().*samples).size();
  if (begin >= end) return std::nullopt;
  const auto stretches = std::min(kStretches, end - begin);
  std::vector<double> means;
  for (std::size_t k = 0; k < stretches; ++k) {
    Samples pooled;
    for (const auto& rank : run.timing) {
      const auto* all = (rank.*samples).data() + begin;
      pooled.insert(pooled.end(), all + k * (end - begin) / stretches,
                    all + (k + 1) * (end - begin) / stretches);
    }
    if (const auto statistics = statistics_of(pooled)) means.push_back(statistics->mean);
  }
  const auto spread = over(means);
  return spread ? std::optional(Ranged{*spread, means.size() > 1}) : std::nullopt;
}

template <class Value>
std::optional<Ranged> over_epochs(const RunRecord& run, Value&& value) {
  std::vector<double> values;
  for (const auto& epoch : representative_epochs(run))
    if (const std::optional<double> found = value(epoch)) values.push_back(*found);
  const auto spread = over(values);
  return spread ? std::optional(Ranged{*spread, values.size() > 1}) : std::nullopt;
}

std::optional<Ranged> single(const std::optional<double>& value) {
  if (!value) return std::nullopt;
  return Ranged{{.median = *value, .min = *value, .max = *value}, false};
}

// Correct answers scatter as a binomial count does: two standard deviations to either side.
std::optional<Ranged> accuracy_of(const RunRecord& run) {
  if (!run.results || run.results->total == 0) return std::nullopt;
  const auto total = static_cast<double>(run.results->total);
  const double share = static_cast<double>(run.results->correct) / total;
  const double reach = 2.0 * std::sqrt(share * (1.0 - share) / total);
  return Ranged{{.median = share * 100, .min = (share - reach) * 100, .max = (share + reach) * 100}, true};
}

using Quantities = std::vector<std::pair<std::string, std::optional<Ranged>>>;

Quantities quantities_of(const RunRecord& run) {
  const auto epoch_s = [](const EpochRecord& epoch) { return std::optional(epoch.wall_s); };
  const auto summary = summarize(run);
  Quantities all = {{"epoch time s", over_epochs(run, epoch_s)},
                    {run.batch.item + "/s", over_epochs(run, items_per_s)}};
  using Timing = RankTimingRecord;
  const std::pair<const char*, Samples Timing::*> parts[] = {
      {"step ms", &Timing::step_ms},
      {"data wait ms", &Timing::data_wait_ms},
      {"forward ms", &Timing::forward_ms},
      {"backward ms", &Timing::backward_ms},
      {"recompute, in backward ms", &Timing::recompute_ms},
      {"communication, exposed ms", &Timing::exposed_ms},
      {"optimizer ms", &Timing::optimizer_ms},
      {"other ms", &Timing::other_ms},
      {"communication, busy ms", &Timing::comm_busy_ms}};
  for (const auto& [name, samples] : parts) all.emplace_back(name, over_stretches(run, samples));
  const auto wire = run.bucket_times ? std::optional(run.bucket_times->wire_ms) : std::nullopt;
  all.emplace_back("wire ms", single(wire));
  all.emplace_back("bus bandwidth in training GB/s", single(summary.bus_gb_per_s_in_training));
  all.emplace_back("bus bandwidth alone GB/s", single(run.link.bus_gb_per_s_standalone));
  if (!run.losses.empty()) all.emplace_back("last training loss", single(run.losses.back().loss));
  all.emplace_back("accuracy %", accuracy_of(run));
  return all;
}

Quantities quantities_of(const CompareResult& result) {
  Quantities all;
  for (const auto& row : result.rows) {
    const auto add = [&](const char* name, const std::optional<Spread>& spread, double scale = 1.0) {
      if (!spread) return;
      const Spread scaled{spread->median * scale, spread->min * scale, spread->max * scale};
      all.emplace_back(fmt::format("{}: {}", row.label, name), Ranged{scaled, row.repeats > 1});
    };
    add("epoch time s", row.epoch_s);
    add((result.batch.item + "/s").c_str(), row.items_per_s);
    add("communication share, exposed %", row.exposed_share, 100.0);
    add("communication share, busy %", row.busy_share, 100.0);
    add("bus bandwidth in training GB/s", row.bus_gb_per_s_in_training);
    add("bus bandwidth alone GB/s", row.bus_gb_per_s_standalone);
  }
  return all;
}

std::vector<MovedQuantity> moved_between(const Quantities& a, const Quantities& b) {
  std::vector<MovedQuantity> moved;
  for (const auto& [name, in_a] : a) {
    const auto in_b = std::ranges::find(b, name, &std::pair<std::string, std::optional<Ranged>>::first);
    if (!in_a || in_b == b.end() || !in_b->second) continue;
    moved.push_back({.quantity = name,
                     .a = in_a->spread,
                     .b = in_b->second->spread,
                     .has_ranges = in_a->has_range && in_b->second->has_range});
  }
  return moved;
}

std::vector<std::string> headlines(const RunRecord& run) {
  std::vector<std::string> lines;
  for (const auto& conclusion : conclusions_of(run)) lines.push_back(headline_of(conclusion));
  return lines;
}

std::string transport_of(const CompareRow& row) {
  return with_caveats(row.transport_found, row.caveats);
}

std::string name_of(const RunRecord& run) {
  return fmt::format("{}, started {}", run.name, run.started);
}

}  // namespace

std::optional<double> MovedQuantity::noise() const {
  if (!has_ranges) return std::nullopt;
  return (a.max - a.min + b.max - b.min) / 2.0;
}

std::optional<bool> MovedQuantity::beyond_noise() const {
  const auto reach = noise();
  return reach ? std::optional(std::abs(change()) > *reach) : std::nullopt;
}

RecordDiff diff_runs(const RunRecord& a, const RunRecord& b) {
  RecordDiff diff{.a = name_of(a), .b = name_of(b)};
  Changes changes(diff.changed);
  changes.compare("config", config_of(a), config_of(b));
  changes.compare("work", work_facts(a.model, a.batch, a.reduction),
                  work_facts(b.model, b.batch, b.reduction));
  changes.compare("link", link_facts(a), link_facts(b));
  changes.compare("topology", topology_facts(a.hosts, a.topology, a.world_size),
                  topology_facts(b.hosts, b.topology, b.world_size));
  changes.compare("version", a.versions, b.versions);
  changes.compare("environment", a.environment, b.environment);
  const auto program = [](const RunRecord& run) {
    return Facts{{"version", run.program.version}, {"commit", run.program.git}, {"build", run.program.build}};
  };
  changes.compare("program", program(a), program(b));
  diff.moved = moved_between(quantities_of(a), quantities_of(b));
  diff.limits_a = headlines(a);
  diff.limits_b = headlines(b);
  return diff;
}

RecordDiff diff_comparisons(const CompareResult& a, const CompareResult& b) {
  const auto name = [](const CompareResult& result) {
    return fmt::format("{} on {} ranks, {} links", result.model.name, result.world_size, result.rows.size());
  };
  RecordDiff diff{.a = name(a), .b = name(b)};
  Changes changes(diff.changed);
  changes.compare("work", work_facts(a.model, a.batch, a.reduction),
                  work_facts(b.model, b.batch, b.reduction));
  changes.compare("topology", topology_facts(a.hosts, a.topology, a.world_size),
                  topology_facts(b.hosts, b.topology, b.world_size));
  const auto links = [](const CompareResult& result) {
    Facts facts;
    for (const auto& row : result.rows) facts[row.label] = transport_of(row);
    return facts;
  };
  changes.compare("link", links(a), links(b));
  diff.moved = moved_between(quantities_of(a), quantities_of(b));
  return diff;
}

}  // namespace tandem

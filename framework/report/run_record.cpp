#include "report/run_record.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

#include "core/error.h"
#include "report/atomic_file.h"
#include "report/record_fields.h"
#include "report/step_timeline_check.h"
#include "report/step_timeline_fields.h"
#include "report/topology_fields.h"

namespace tandem {

template <class Visitor, SameAs<RunRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("name", x.name);
  field("started", x.started);
  field("command_line", x.command_line);
  field("program", x.program);
  field("config", x.config);
  field("hosts", x.hosts);
  field("topology", x.topology);
  field("versions", x.versions);
  field("environment", x.environment);
  field("world_size", x.world_size);
  field("model", x.model);
  field("batch", x.batch);
  field("link", x.link);
  field("reduction", x.reduction);
  field("recomputed", x.recomputed);
  field("buckets", x.buckets);
  field("learning_rate", x.learning_rate);
  field("startup", x.startup);
  field("graph_capture_ms", x.graph_capture_ms);
  field("warmup_steps", x.warmup_steps);
  field("timing", x.timing);
  field("bucket_times", x.bucket_times);
  field("timelines", x.timelines);
  field("control", x.control);
  field("peak", x.peak);
  field("energy", x.energy);
  field("prices", x.prices);
  field("losses", x.losses);
  field("epochs", x.epochs);
  field("results", x.results);
  field("parameter_hash", x.parameter_hash);
  field("not_training", x.not_training);
  field("notes", x.notes);
}

namespace {

// Every field has its type; now they must agree with each other.
class Consistency {
 public:
  Consistency(const RunRecord& record, const std::string& file) : record_(record), file_(file) {}

  void check() const {
    check_shape();
    check_words();
    check_buckets();
    check_timing();
    if (const auto fault = find_fault(record_.timelines, {.world_size = record_.world_size,
                                                          .buckets = record_.buckets.size(),
                                                          .recomputed = record_.recomputed.size()}))
      require(false, "timelines" + fault->field, fault->expected, fault->found);
    check_epochs();
    check_control();
    check_economy();
    if (record_.results)
      require(record_.results->correct <= record_.results->total, "results.correct", "at most results.total",
              record_.results->correct);
  }

 private:
  template <class Found>
  void require(bool holds, std::string_view path, std::string_view expected, const Found& found) const {
    if (holds) return;
    throw InputError({.what = "Fields of a run record contradict each other.",
                      .where = fmt::format("{}: {}", file_, path),
                      .expected = std::string(expected),
                      .found = fmt::format("{}", found),
                      .advice = "The file was edited or written by another version: make it again."});
  }

  void check_shape() const {
    require(record_.world_size >= 1, "world_size", "at least 1", record_.world_size);
    std::int64_t ranks = 0;
    for (const auto& host : record_.hosts) ranks += host.ranks;
    require(ranks == record_.world_size, "hosts", fmt::format("{} ranks in all", record_.world_size), ranks);
    const auto& batch = record_.batch;
    const double product = static_cast<double>(batch.micro) * batch.accumulation * record_.world_size;
    require(product == batch.global, "batch.global",
            fmt::format("micro * accumulation * world size = {}", product), batch.global);
    require(batch.steps_per_epoch >= 1, "batch.steps_per_epoch", "at least 1", batch.steps_per_epoch);
  }

  void require_word(std::string_view path, const std::string& word,
                    std::initializer_list<std::string_view> allowed) const {
    for (const auto candidate : allowed)
      if (word == candidate) return;
    require(false, path, fmt::format("one of: {}", fmt::join(allowed, ", ")), word);
  }

  void check_words() const {
    require_word("batch.item", record_.batch.item, {"images", "tokens"});
    require_word("reduction.grouping", record_.reduction.grouping, {"per_tensor", "bucketed"});
    require_word("reduction.schedule", record_.reduction.schedule, {"after", "overlapped"});
    require_word("reduction.update_order", record_.reduction.update_order, {"streamed", "gated"});
  }

  void check_buckets() const {
    for (std::size_t i = 0; i < record_.buckets.size(); ++i)
      require(static_cast<std::size_t>(record_.buckets[i].index) == i, fmt::format("buckets[{}].index", i),
              fmt::format("{}", i), record_.buckets[i].index);
    if (!record_.bucket_times) return;
    const auto& times = *record_.bucket_times;
    require(times.buckets.size() == record_.buckets.size(), "bucket_times.buckets",
            fmt::format("{} buckets", record_.buckets.size()), times.buckets.size());
    const auto ranks = static_cast<std::size_t>(record_.world_size);
    require(times.peer_wait_ms.size() == ranks, "bucket_times.peer_wait_ms", fmt::format("{} ranks", ranks),
            times.peer_wait_ms.size());
    for (std::size_t i = 0; i < times.buckets.size(); ++i) {
      const auto& bucket = times.buckets[i];
      require(bucket.rank_median_ms.size() == ranks,
              fmt::format("bucket_times.buckets[{}].rank_median_ms", i), fmt::format("{} ranks", ranks),
              bucket.rank_median_ms.size());
      require(bucket.rank_exposed_ms.size() == ranks,
              fmt::format("bucket_times.buckets[{}].rank_exposed_ms", i), fmt::format("{} ranks", ranks),
              bucket.rank_exposed_ms.size());
    }
  }

  void check_timing() const {
    const auto& timing = record_.timing;
    require(timing.empty() || timing.size() == static_cast<std::size_t>(record_.world_size), "timing",
            fmt::format("none or {} ranks", record_.world_size), timing.size());
    for (std::size_t r = 0; r < timing.size(); ++r) {
      require(static_cast<std::size_t>(timing[r].rank) == r, fmt::format("timing[{}].rank", r),
              fmt::format("{}", r), timing[r].rank);
      const auto steps = timing.front().step_ms.size();
      const auto check_length = [&](const char* name, const auto& field) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, Samples>)
          require(field.size() == steps, fmt::format("timing[{}].{}", r, name),
                  fmt::format("{} steps", steps), field.size());
      };
      tandem::visit_fields(check_length, timing[r]);
    }
  }

  void check_control() const {
    if (!record_.control) return;
    const auto& segments = record_.control->segments;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const auto at = fmt::format("control.segments[{}]", i);
      require(segments[i].all_reduce == (i % 2 == 0), at + ".all_reduce", "true and false in turns",
              segments[i].all_reduce);
      check_samples(segments[i].step_ms, segments[i], at + ".step_ms");
      check_samples(segments[i].exposed_ms, segments[i], at + ".exposed_ms");
    }
  }

  // Of every rank, and as many of each as of rank 0.
  void check_samples(const std::vector<std::vector<double>>& by_rank, const ControlSegmentRecord& segment,
                     const std::string& at) const {
    const auto ranks = static_cast<std::size_t>(record_.world_size);
    require(by_rank.size() == ranks, at, fmt::format("{} ranks", ranks), by_rank.size());
    const auto steps = segment.step_ms.front().size();
    for (std::size_t r = 0; r < ranks; ++r)
      require(steps > 0 && by_rank[r].size() == steps, fmt::format("{}[{}]", at, r),
              fmt::format("{} steps, and at least one", steps), by_rank[r].size());
  }

  void check_economy() const {
    if (record_.energy)
      require(record_.energy->rank_j.size() == static_cast<std::size_t>(record_.world_size), "energy.rank_j",
              fmt::format("{} ranks", record_.world_size), record_.energy->rank_j.size());
    if (record_.peak)
      require(record_.peak->flops_per_s > 0.0, "peak.flops_per_s", "above 0", record_.peak->flops_per_s);
    for (std::size_t i = 0; i < record_.epochs.size(); ++i) {
      const auto& epoch = record_.epochs[i];
      require(!epoch.training_energy_j || !epoch.energy_j || *epoch.training_energy_j <= *epoch.energy_j,
              fmt::format("epochs[{}].training_energy_j", i), "at most energy_j",
              epoch.training_energy_j.value_or(0.0));
    }
  }

  void check_epochs() const {
    for (std::size_t i = 0; i < record_.epochs.size(); ++i) {
      const auto& epoch = record_.epochs[i];
      require(epoch.eval_s + epoch.checkpoint_s <= epoch.wall_s, fmt::format("epochs[{}].wall_s", i),
              "at least eval_s + checkpoint_s", epoch.wall_s);
      if (record_.timing.empty()) continue;
      const auto recorded = static_cast<std::int64_t>(record_.timing.front().step_ms.size());
      require(epoch.first_step <= recorded && epoch.steps <= recorded - epoch.first_step,
              fmt::format("epochs[{}].steps", i), fmt::format("within the {} steps of timing", recorded),
              epoch.steps);
    }
  }

  const RunRecord& record_;
  const std::string& file_;
};

std::optional<double> rounded(const std::optional<double>& ms) {
  if (!ms) return std::nullopt;
  return std::round(*ms * 1e4) / 1e4;
}

}  // namespace

std::string to_json(const RunRecord& record) {
  Json file = {{"schema", RunRecord::kSchema}};
  file.update(JsonForm<RunRecord>::write(record));
  return render_json(file);
}

RunRecord run_record_from_json(std::string_view text, const std::string& file) {
  Json json = parse_json(text, file);
  const JsonPlace top{&json, &file};
  require_schema(top, RunRecord::kSchema);
  json.erase("schema");
  RunRecord record;
  JsonForm<RunRecord>::read(top, record);
  Consistency(record, file).check();
  return record;
}

RunRecord read_run_record(const std::filesystem::path& path) {
  return run_record_from_json(read_file(path), path.string());
}

void write_run_record(const RunRecord& record, const std::filesystem::path& path) {
  write_file_atomically(path, to_json(record));
}

void append_step(RankTimingRecord& timing, const StepTiming& step) {
  timing.step_ms.push_back(rounded(step.step_ms));
  timing.data_wait_ms.push_back(rounded(step.data_wait_ms));
  timing.forward_ms.push_back(rounded(step.forward_ms));
  timing.backward_ms.push_back(rounded(step.backward_ms));
  timing.recompute_ms.push_back(rounded(step.recompute_ms));
  timing.comm_busy_ms.push_back(rounded(step.comm_busy_ms));
  timing.exposed_ms.push_back(rounded(step.exposed_ms));
  timing.exposed_buckets_ms.push_back(rounded(step.exposed_buckets_ms));
  timing.optimizer_ms.push_back(rounded(step.optimizer_ms));
  timing.other_ms.push_back(rounded(step.other_ms));
}

std::string utc_timestamp(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

}  // namespace tandem

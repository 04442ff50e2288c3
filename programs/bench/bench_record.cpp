#include "bench/bench_record.h"

#include <algorithm>

#include "core/error.h"
#include "doctor/fact_fields.h"
#include "report/atomic_file.h"
#include "report/json_fields.h"
#include "report/record_fields.h"

namespace tandem {

template <class Visitor, SameAs<BenchPoint> T>
void visit_fields(Visitor&& field, T& x) {
  field("collective", x.collective);
  field("bytes", x.bytes);
  field("iterations", x.iterations);
  field("time_us", x.time_us);
  field("wrong", x.wrong);
}

template <class Visitor, SameAs<BenchPair> T>
void visit_fields(Visitor&& field, T& x) {
  field("from", x.from);
  field("to", x.to);
  field("latency_us", x.latency_us);
  field("gb_per_s", x.gb_per_s);
  field("both_gb_per_s", x.both_gb_per_s);
  field("messages_per_s", x.messages_per_s);
}

template <class Visitor, SameAs<BenchRun> T>
void visit_fields(Visitor&& field, T& x) {
  field("transport", x.transport);
  field("description", x.description);
  field("device", x.device);
  field("ranks", x.ranks);
  field("versions", x.versions);
  field("latency_us", x.latency_us);
  field("rate_per_s", x.rate_per_s);
  field("points", x.points);
  field("pairs", x.pairs);
}

template <class Visitor, SameAs<AlphaBeta> T>
void visit_fields(Visitor&& field, T& x) {
  field("collective", x.collective);
  field("latency_us", x.latency_us);
  field("bus_gb_per_s", x.bus_gb_per_s);
  field("worst_error", x.worst_error);
}

template <class Visitor, SameAs<BenchLinkPoint> T>
void visit_fields(Visitor&& field, T& x) {
  field("collective", x.collective);
  field("bytes", x.bytes);
  field("time_us", x.time_us);
  field("algorithm_gb_per_s", x.algorithm_gb_per_s);
  field("bus_gb_per_s", x.bus_gb_per_s);
  field("wrong", x.wrong);
}

template <class Visitor, SameAs<BenchLink> T>
void visit_fields(Visitor&& field, T& x) {
  field("label", x.label);
  field("overrides", x.overrides);
  field("transport", x.transport);
  field("description", x.description);
  field("repeats", x.repeats);
  field("latency_us", x.latency_us);
  field("rate_per_s", x.rate_per_s);
  field("aggregate_gb_per_s", x.aggregate_gb_per_s);
  field("points", x.points);
  field("pairs", x.pairs);
  field("fits", x.fits);
}

template <class Visitor, SameAs<BenchResult> T>
void visit_fields(Visitor&& field, T& x) {
  field("started", x.started);
  field("host", x.host);
  field("device", x.device);
  field("ranks", x.ranks);
  field("versions", x.versions);
  field("links", x.links);
  field("gpu_pairs", x.gpu_pairs);
}

namespace {

template <class T>
std::string render(const T& value) {
  Json json = {{"schema", T::kSchema}};
  json.update(JsonForm<T>::write(value));
  return render_json(json);
}

template <class T>
T read(const std::filesystem::path& path) {
  const auto file = path.string();
  Json json = parse_json(read_file(path), file);
  const JsonPlace top{&json, &file};
  require_schema(top, T::kSchema);
  json.erase("schema");
  T value;
  JsonForm<T>::read(top, value);
  return value;
}

Spread spread_over(const std::vector<double>& values) {
  return spread_of(*statistics_of(values));
}

// Collects one number of every run.
template <class Number>
Spread over_runs(const std::vector<BenchRun>& runs, Number number) {
  std::vector<double> values;
  for (const auto& run : runs) values.push_back(number(run));
  return spread_over(values);
}

BenchLinkPoint merge_point(const std::vector<BenchRun>& runs, std::size_t index) {
  const auto& first = runs.front().points[index];
  BenchLinkPoint point{.collective = first.collective, .bytes = first.bytes};
  for (const auto& run : runs) {
    TANDEM_EXPECT(run.points[index].collective == first.collective && run.points[index].bytes == first.bytes,
                  "repeats measured different points: {} of {} bytes and {} of {}", first.collective,
                  first.bytes, run.points[index].collective, run.points[index].bytes);
    point.wrong += run.points[index].wrong;
  }
  point.time_us = over_runs(runs, [index](const BenchRun& run) { return run.points[index].time_us; });
  constexpr double kBytesPerMicrosecond = 1e3;  // of 1 GB/s
  point.algorithm_gb_per_s = static_cast<double>(point.bytes) / point.time_us.median / kBytesPerMicrosecond;
  point.bus_gb_per_s = point.algorithm_gb_per_s * bus_factor(point.collective, runs.front().ranks);
  return point;
}

BenchPair merge_pair(const std::vector<BenchRun>& runs, std::size_t index) {
  const auto median = [&](double BenchPair::*number) {
    return over_runs(runs, [&](const BenchRun& run) { return run.pairs[index].*number; }).median;
  };
  const auto& first = runs.front().pairs[index];
  return {.from = first.from,
          .to = first.to,
          .latency_us = median(&BenchPair::latency_us),
          .gb_per_s = median(&BenchPair::gb_per_s),
          .both_gb_per_s = median(&BenchPair::both_gb_per_s),
          .messages_per_s = median(&BenchPair::messages_per_s)};
}

// Minimizes the sum of ((t - a - b x) / t)^2 over a, b >= 0.
AlphaBeta fit_line(const std::vector<std::pair<double, double>>& points) {  // bus bytes, microseconds
  double w = 0, wx = 0, wxx = 0, wt = 0, wxt = 0;
  for (const auto& [x, t] : points) {
    const double weight = 1.0 / (t * t);
    w += weight;
    wx += weight * x;
    wxx += weight * x * x;
    wt += weight * t;
    wxt += weight * x * t;
  }
  double slope = (w * wxt - wx * wt) / (w * wxx - wx * wx);
  double start = (wt - slope * wx) / w;
  if (start < 0) {  // the best line through 0
    start = 0;
    slope = wxt / wxx;
  } else if (slope < 0) {  // the best constant
    slope = 0;
    start = wt / w;
  }
  AlphaBeta line{.latency_us = start, .bus_gb_per_s = slope > 0 ? 1e-3 / slope : 0.0};
  for (const auto& [x, t] : points)
    line.worst_error = std::max(line.worst_error, std::abs(start + slope * x - t) / t);
  return line;
}

}  // namespace

std::string to_json(const BenchRun& run) {
  return render(run);
}
std::string to_json(const BenchResult& result) {
  return render(result);
}
BenchRun read_bench_run(const std::filesystem::path& path) {
  return read<BenchRun>(path);
}
BenchResult read_bench_result(const std::filesystem::path& path) {
  return read<BenchResult>(path);
}

double bus_factor(std::string_view collective, int ranks) {
  const double share = static_cast<double>(ranks - 1) / ranks;
  if (collective == "all_reduce") return 2 * share;
  TANDEM_EXPECT(collective == "reduce_scatter" || collective == "all_gather", "no bus bandwidth of {}",
                collective);
  return share;
}

BenchLink merge_repeats(const std::string& label, const std::vector<std::string>& overrides,
                        const std::vector<BenchRun>& repeats) {
  TANDEM_EXPECT(!repeats.empty(), "link {} has no run", label);
  const auto& first = repeats.front();
  for (const auto& run : repeats)
    TANDEM_EXPECT(run.points.size() == first.points.size() && run.pairs.size() == first.pairs.size() &&
                      run.ranks == first.ranks,
                  "repeats of link {} measured different things", label);
  BenchLink link{.label = label,
                 .overrides = overrides,
                 .transport = first.transport,
                 .description = first.description,
                 .repeats = static_cast<int>(repeats.size()),
                 .latency_us = over_runs(repeats, [](const BenchRun& run) { return run.latency_us; }),
                 .rate_per_s = over_runs(repeats, [](const BenchRun& run) { return run.rate_per_s; })};
  for (std::size_t i = 0; i < first.points.size(); ++i) link.points.push_back(merge_point(repeats, i));
  for (std::size_t i = 0; i < first.pairs.size(); ++i) link.pairs.push_back(merge_pair(repeats, i));
  for (const auto& point : link.points)
    if (point.collective == "all_reduce") link.aggregate_gb_per_s = point.bus_gb_per_s * first.ranks;
  link.fits = fit_lines(link.points, first.ranks);
  return link;
}

std::vector<AlphaBeta> fit_lines(const std::vector<BenchLinkPoint>& points, int ranks) {
  std::map<std::string, std::vector<std::pair<double, double>>> lines;
  for (const auto& point : points)
    lines[point.collective].emplace_back(
        static_cast<double>(point.bytes) * bus_factor(point.collective, ranks), point.time_us.median);
  std::vector<AlphaBeta> fits;
  for (const auto& [collective, samples] : lines) {
    if (samples.size() < 2) continue;
    auto line = fit_line(samples);
    line.collective = collective;
    fits.push_back(line);
  }
  return fits;
}

}  // namespace tandem

#include "run_config/validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "run_config/run_config.h"
#include "run_config/suggestion.h"
#include "run_config/value.h"

namespace tandem {
namespace {

// "model.name" with value "resnet20" -> "model resnet20"; "optim.schedule" -> "optim.schedule cosine".
std::string described(const ConfigSchema& schema, const std::string& path) {
  const auto [section, name] = split_path(path);
  const bool names_section = name == "name" || name == "kind";
  return fmt::format("{} {}", names_section ? section : path, value_text(*schema.find(path)));
}

// A key that was set although it has no meaning. A config built in a program has no origins: there, a value
// other than the default gives it away.
void refuse_meaningless_keys(const ConfigSchema& schema, const Origins& origins) {
  RunConfig defaults;
  const ConfigSchema default_schema(defaults);
  for (const ConfigKey& key : schema.keys()) {
    if (schema.applies(key)) continue;
    const bool is_set =
        origins.given(key.path) || value_text(key) != value_text(*default_schema.find(key.path));
    if (!is_set) continue;
    throw InputError(
        {.what = fmt::format("{} has no meaning for {}", key.path, described(schema, key.decided_by)),
         .where = origins.where(key.path),
         .expected =
             fmt::format("this key with {} {} only", key.decided_by, join_with_or(words_it_applies_to(key))),
         .found = fmt::format("{}: {}", key.decided_by, value_text(*schema.find(key.decided_by))),
         .advice = fmt::format("delete {}, or change {}", key.path, key.decided_by)});
  }
}

void check_model(const ModelConfig& m, const Origins& origins) {
  if (!m.is_gpt()) return;
  if (m.name == ModelConfig::Name::Gpt && m.channels % m.heads != 0) {
    throw InputError({.what = "model.channels is not a multiple of model.heads",
                      .where = origins.where(origins.given("model.heads") ? "model.heads" : "model.channels"),
                      .expected = "equally many channels for each head",
                      .found = fmt::format("{} channels for {} heads", m.channels, m.heads),
                      .advice = ""});
  }
  if (m.padded_vocab != 0 && m.padded_vocab < m.vocab) {
    throw InputError({.what = "model.padded_vocab is smaller than model.vocab",
                      .where = origins.where("model.padded_vocab"),
                      .expected = fmt::format("0, or at least {}", m.vocab),
                      .found = fmt::format("{}", m.padded_vocab),
                      .advice = ""});
  }
}

void check_model_fits_data(const ConfigSchema& schema, const Origins& origins) {
  const RunConfig& c = schema.config();
  if (c.model.is_gpt() != c.data.is_tokens()) {
    const bool gpt = c.model.is_gpt();
    throw InputError({.what = fmt::format("{} cannot be trained on {}", described(schema, "model.name"),
                                          described(schema, "data.kind")),
                      .where = origins.where(origins.given("data.kind") ? "data.kind" : "model.name"),
                      .expected = gpt ? "data.kind text, tokens or synthetic_tokens"
                                      : "data.kind fashion_mnist, idx, cifar10 or synthetic_images",
                      .found = fmt::format("data.kind: {}", config_value(c, "data.kind")),
                      .advice = ""});
  }
  constexpr int kByteValues = 256;
  if (c.data.kind == DataConfig::Kind::Text && c.model.vocab < kByteValues) {
    throw InputError({.what = "model.vocab is too small for text, which is read byte by byte",
                      .where = origins.where("model.vocab"),
                      .expected = fmt::format("at least {}", kByteValues),
                      .found = fmt::format("{}", c.model.vocab),
                      .advice = ""});
  }
}

void check_data(const ConfigSchema& schema, const Origins& origins) {
  const RunConfig& c = schema.config();
  if (!c.data.is_synthetic() && c.data.path.empty()) {
    throw InputError({.what = "data.path is missing",
                      .where = origins.where("data.path"),
                      .expected = fmt::format("the file or folder of {}", described(schema, "data.kind")),
                      .found = "nothing",
                      .advice = "set data.path"});
  }
  for (const char* path : {"data.limit", "data.eval_limit"}) {
    const bool none = path == std::string_view("data.limit") ? c.data.limit == 0 : c.data.eval_limit == 0;
    if (!c.data.is_synthetic() || !none) continue;
    throw InputError({.what = fmt::format("{} is 0, but synthetic data has no end", path),
                      .where = origins.where(path),
                      .expected = "a number of samples",
                      .found = "0",
                      .advice = ""});
  }
  if (c.data.kind == DataConfig::Kind::SyntheticImages) {
    const int smaller = std::min(c.data.image[0], c.data.image[1]);
    if (c.data.augment.crop_padding <= smaller) return;
    throw InputError({.what = "data.augment.crop_padding is larger than the image",
                      .where = origins.where("data.augment.crop_padding"),
                      .expected = fmt::format("at most {}", smaller),
                      .found = fmt::format("{}", c.data.augment.crop_padding),
                      .advice = ""});
  }
}

void check_schedule(const OptimConfig& o, const TrainConfig& t, const Origins& origins) {
  if (o.warmup_steps > 0 && o.warmup_epochs > 0) {
    throw InputError({.what = "optim.warmup_steps and optim.warmup_epochs are both set",
                      .where = origins.where("optim.warmup_steps"),
                      .expected = "one of the two",
                      .found = fmt::format("{} steps and {} epochs", o.warmup_steps, o.warmup_epochs),
                      .advice = "delete one of the two"});
  }
  // A run that train.max_steps cuts short may well end within its warm-up: that is a trial of the real thing.
  if (t.max_steps == 0 && o.warmup_epochs >= t.epochs) {
    throw InputError({.what = "the warm-up does not end within the run",
                      .where = origins.where("optim.warmup_epochs"),
                      .expected = fmt::format("fewer than train.epochs, {}", t.epochs),
                      .found = fmt::format("{} epochs", o.warmup_epochs),
                      .advice = ""});
  }
  if (o.schedule != OptimConfig::Schedule::Step) return;
  const bool rises = std::adjacent_find(o.step_epochs.begin(), o.step_epochs.end(), std::greater_equal<>()) ==
                     o.step_epochs.end();
  if (!o.step_epochs.empty() && rises) return;
  throw InputError(
      {.what = "optim.schedule step needs optim.step_epochs in rising order",
       .where = origins.where(origins.given("optim.step_epochs") ? "optim.step_epochs" : "optim.schedule"),
       .expected = "a list such as [30, 60, 80]",
       .found = fmt::format("[{}]", fmt::join(o.step_epochs, ", ")),
       .advice = ""});
}

void check_naive(const ConfigSchema& schema, const Origins& origins) {
  const CommConfig& c = schema.config().comm;
  if (!c.naive) return;
  const auto refuse = [&](const char* path, const char* wanted) {
    throw InputError({.what = fmt::format("comm.naive and {} disagree", path),
                      .where = origins.where(path),
                      .expected = fmt::format("{}, which comm.naive stands for", wanted),
                      .found = value_text(*schema.find(path)),
                      .advice = fmt::format("delete comm.naive or {}", path)});
  };
  if (c.grouping != CommConfig::Grouping::PerTensor) refuse("comm.grouping", "per_tensor");
  if (c.schedule != CommConfig::Schedule::After) refuse("comm.schedule", "after");
}

void check_comm(const ConfigSchema& schema, const Origins& origins) {
  const CommConfig& c = schema.config().comm;
  check_naive(schema, origins);
  const bool contradicts =
      c.link != CommConfig::Link::Auto && c.expect != CommConfig::Link::Auto && c.link != c.expect;
  if (contradicts) {
    throw InputError({.what = "comm.expect is another path than comm.link",
                      .where = origins.where("comm.expect"),
                      .expected = fmt::format("\"\" or {}", config_value(schema.config(), "comm.link")),
                      .found = config_value(schema.config(), "comm.expect"),
                      .advice = ""});
  }
  if (c.register_gradients && c.link == CommConfig::Link::Pcie) {
    throw InputError({.what = "registered memory travels over NVLink even where comm.link is pcie",
                      .where = origins.where("comm.register"),
                      .expected = "false with comm.link: pcie",
                      .found = "true",
                      .advice = "delete comm.register, or choose another link"});
  }
  if (c.pace_latency_us > 0 && c.pace_gbit == 0) {
    throw InputError({.what = "comm.pace_latency_us has no effect without comm.pace_gbit",
                      .where = origins.where("comm.pace_latency_us"),
                      .expected = "a paced link: latency and bandwidth",
                      .found = fmt::format("{} us and no bandwidth", c.pace_latency_us),
                      .advice = "set comm.pace_gbit"});
  }
  for (const auto& [path, size] : {std::pair{"comm.first_bucket_mb", c.first_bucket_mb},
                                   std::pair{"comm.last_bucket_mb", c.last_bucket_mb}}) {
    if (size <= c.bucket_mb) continue;
    throw InputError({.what = fmt::format("{} is larger than comm.bucket_mb", path),
                      .where = origins.where(origins.given(path) ? path : "comm.bucket_mb"),
                      .expected = "first and last buckets that are no larger than the others",
                      .found = fmt::format("{} MiB and {} MiB", size, c.bucket_mb),
                      .advice = fmt::format("set {}", path)});
  }
}

void check_measure(const RunConfig& c, const Origins& origins) {
  if (c.measure.contention == MeasureConfig::Contention::Off ||
      c.report.metrics != ReportConfig::Metrics::Off)
    return;
  throw InputError({.what = "measure.contention needs the timing of steps, which report.metrics switches off",
                    .where = origins.where("measure.contention"),
                    .expected = "report.metrics: summary",
                    .found = "report.metrics: off",
                    .advice = "delete measure.contention or report.metrics"});
}

}  // namespace

std::string Origins::where(std::string_view path) const {
  const auto found = where_.find(path);
  return found == where_.end() ? fmt::format("{} (default)", path) : found->second;
}

void validate(const ConfigSchema& schema, const Origins& origins) {
  const RunConfig& config = schema.config();
  for (const ConfigKey& key : schema.keys()) check_range(key, origins.where(key.path));
  check_model_fits_data(schema, origins);
  refuse_meaningless_keys(schema, origins);
  check_model(config.model, origins);
  check_data(schema, origins);
  check_schedule(config.optim, config.train, origins);
  check_comm(schema, origins);
  check_measure(config, origins);
}

void validate(const RunConfig& config) {
  RunConfig copy = config;
  validate(ConfigSchema(copy), Origins());
}

}  // namespace tandem

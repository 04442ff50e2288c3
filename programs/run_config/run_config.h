// The run's configuration: strict YAML in, plain structs out.
//
// A file holds only what differs from the defaults. Everything that is not understood is an error: unknown or
// misplaced keys, duplicate keys, wrong types, values out of range, keys without a meaning for the chosen
// model, and YAML features that make a file say something else than it seems to (anchors, aliases, merge
// keys, tags, several documents). `1e-4` is a number; only `true` and `false` are booleans.
//
// All functions throw InputError with where = "file.yaml:12:5 (optim.lr)" or "--set optim.lr". They are pure
// but for reading the named file, and may be called from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "run_config/sections.h"

namespace tandem {

// Reads a file, then `overrides` ("optim.lr=0.4", as given to --set; of two for one key the last wins), fills
// in the defaults that depend on other keys and validates the result.
RunConfig load_run_config(const std::filesystem::path& file, std::span<const std::string> overrides);

// The same on text; `file_name` is used in errors, and its stem as the default of report.name.
RunConfig parse_run_config(std::string_view text, const std::string& file_name,
                           std::span<const std::string> overrides);

// The rules that concern one config as a whole, and every key's range. Reading a file ends with it; call it
// again after changing a config in a program.
void validate(const RunConfig& config);

// Every key that has a meaning for this config. REQUIRES a valid config; reading the text back gives it
// again.
std::string to_yaml(const RunConfig& config);

// "comm.bucket_mb" -> "25", …: the lines of a text that to_yaml() wrote, such as the config in a run record.
std::map<std::string, std::string> written_values(std::string_view yaml);

// One key's value as it stands in YAML: config_value(config, "model.name") == "resnet20".
// Throws Error if there is no such key.
std::string config_value(const RunConfig& config, std::string_view path);

// The reference of all keys (type, range, default, unit, meaning) as Markdown.
std::string config_reference_markdown();

struct BatchSizes {
  std::int64_t global_batch;  // samples per optimizer step, all ranks together
  std::int64_t micro_batch;   // samples per forward pass on one rank
  std::int64_t accumulation;  // forward passes per optimizer step on one rank
  bool operator==(const BatchSizes&) const = default;
};

// global_batch = micro_batch × world_size × accumulation. What the config leaves at 0 follows from the
// others; if they cannot agree, the error names all of them.
BatchSizes resolve_batch(const TrainConfig& train, int world_size);

struct EffectiveLearningRate {
  double value;
  std::string formula;  // "optim.lr 0.1 × global batch 512 / reference batch 256 = 0.2"
};

// Linear scaling with the *batch*, never with the number of ranks: changing the ranks at a fixed global batch
// leaves the learning rate as it is. (Gradients are averaged, which does not change the learning rate.)
EffectiveLearningRate effective_learning_rate(const OptimConfig& optim, std::int64_t global_batch);

// The file that `name` means: as it is, relative to the working directory, then in each of `directories`; a
// name without a folder may leave ".yaml" out. The error lists the files looked at and the configs there are.
std::filesystem::path find_config(const std::string& name,
                                  std::span<const std::filesystem::path> directories);

}  // namespace tandem

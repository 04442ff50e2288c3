#include "launcher/run_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "environment/environment.h"
#include "environment/shell_quoting.h"
#include "run_config/run_config.h"

namespace tandem {
namespace {

constexpr std::array<std::string_view, 7> kSteering = {
    "OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_", "UCX_", "NCCL_", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_MAX"};

bool steers(std::string_view variable) {
  return std::ranges::any_of(kSteering,
                             [variable](std::string_view name) { return variable.starts_with(name); });
}

}  // namespace

std::map<std::string, std::string> run_identity(const Launch& launch,
                                                const std::vector<std::string>& overrides) {
  auto identity = written_values(to_yaml(load_run_config(launch.config, overrides)));
  identity["ranks"] = fmt::format("{}", launch.ranks);
  for (const auto& host : launch.hosts)
    identity["host " + (launch.one_host ? host.machine.name : host.name)] =
        fmt::format("{} ranks", host.places.size());
  identity["arguments of mpirun"] = shell_quoted(launch.mpirun_extra);
  identity["trainer"] = fmt::format("{:016x}", launch.trainer_hash);
  for (const auto& [name, value] : all_environment_variables())
    if (steers(name)) identity[name] = value;
  return identity;
}

}  // namespace tandem

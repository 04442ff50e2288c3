#include "trainer/run_facts.h"

#include <algorithm>
#include <thread>

#include "comm/mpi_session.h"
#include "core/hash.h"
#include "environment/environment.h"
#include "report/atomic_file.h"
#include "trainer/device_setup.h"
#include "trainer/tandem_version.h"

namespace tandem {

ProgramRecord program_record() {
  return {.version = kTandemVersion, .git = kTandemCommit, .build = kTandemBuild};
}

std::map<std::string, std::string> version_records(DeviceKind device, bool with_mpi) {
  std::map<std::string, std::string> versions{{"compiler", kTandemCompiler}, {"Eigen", kTandemEigen}};
  versions.merge(device_versions(device));
  if (with_mpi) versions["MPI"] = mpi_library_version();
  return versions;
}

std::vector<HostRecord> host_records(const Device& device, RankGroup& group) {
  const auto names = group.all_gather(group.host());
  const auto processors = group.all_gather(device.name());
  const auto cores = group.all_gather(fmt::format("{}", std::thread::hardware_concurrency()));
  std::vector<HostRecord> hosts;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    auto host = std::ranges::find(hosts, names[rank], &HostRecord::name);
    if (host == hosts.end()) {
      hosts.push_back(
          {.name = names[rank], .processor = processors[rank], .cores = std::stoi(cores[rank]), .ranks = 0});
      host = hosts.end() - 1;
    }
    ++host->ranks;
  }
  return hosts;
}

std::string agreement_facts(const RunRecord& record) {
  const auto binary = hash_bytes(read_file(executable_path()));
  std::string facts =
      fmt::format("program: {} {} {}\n", record.program.version, record.program.git, record.program.build);
  facts += fmt::format("binary: {:016x}\n", binary);
  for (const auto& [name, version] : record.versions) facts += fmt::format("{}: {}\n", name, version);
  return facts + record.config;
}

}  // namespace tandem

// Patients for the doctor's rules: machines from the fixtures in surroundings without fault.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "doctor/rules.h"
#include "machine/machine_json.h"

namespace tandem {

inline Surroundings good_surroundings() {
  return {.shm_bytes = std::int64_t{16} << 30,
          .shm_free_bytes = std::int64_t{16} << 30,
          .open_files = 65536,
          .mpirun = "mpirun (Open MPI) 4.1.6",
          .mpirun_path = "/usr/bin/mpirun",
          .cuda_built = true,
          .libraries =
              {{.name = "MPI", .header = "4.1.6", .loaded = "Open MPI v4.1.6", .path = "/lib/libmpi.so.40"},
               {.name = "CUDA runtime", .header = "12.2", .loaded = "12.2"},
               {.name = "NCCL",
                .header = "2.28.3",
                .loaded = "2.28.9",
                .path = "/usr/lib/libnccl.so.2",
                .copies = {"/usr/lib/libnccl.so.2"}}},
          .ranks = 2};
}

// A machine of the fixtures, in good surroundings, with one rank per GPU.
inline Patient patient(const std::string& fixture) {
  Patient made{.host = read_machine(std::string(FIXTURES) + "/" + fixture + ".json").hosts.front(),
               .around = good_surroundings()};
  if (!made.host.gpus.empty()) made.around.ranks = static_cast<int>(made.host.gpus.size());
  return made;
}

inline std::vector<std::string> ids(const Findings& findings) {
  std::vector<std::string> names;
  for (const auto& finding : findings) names.emplace_back(finding.id.text());
  return names;
}

// The one finding with this id; a failed expectation and an empty finding if there is not exactly one.
inline Finding only(const Findings& findings, const std::string& id) {
  const auto text = [](const Finding& finding) { return finding.id.text(); };
  EXPECT_EQ(std::ranges::count(findings, id, text), 1) << id;
  const auto found = std::ranges::find(findings, id, text);
  return found == findings.end() ? Finding{} : *found;
}

// What a healthy pair tests like.
inline void test_all_pairs(Patient& of, double gb_per_s) {
  of.measured.peers_tested = true;
  for (const auto& from : of.host.gpus)
    for (const auto& to : of.host.gpus)
      if (from.index != to.index)
        of.measured.peers.push_back(
            {.from = from.index, .to = to.index, .access = true, .gb_per_s = gb_per_s});
}

}  // namespace tandem

// The hosts of a job as machines: this one, a recorded one, or others that are asked through an agent.
#pragma once

#include <string>
#include <vector>

#include "launcher/launch.h"

namespace tandem {

// Hosts that do not answer for this long count as unreachable.
inline constexpr int kHostAnswer_s = 10;

struct KnownHost {
  HostSlots slots;  // as the user gave them; 0 still means all
  Host machine;
};

// One entry per host of the job. Throws InputError naming every host that cannot be used and the last thing
// it said.
std::vector<KnownHost> look_at_hosts(const LaunchOptions& options);

// Whether the user named hosts at all.
bool names_hosts(const LaunchOptions& options);

// The machine in what an agent printed, past what login shells and ssh may have said before it.
Host machine_in_answer(const std::string& answer, const std::string& host);

}  // namespace tandem

// The hosts of a job: Open MPI's hostfile, or the short form "node1:2,node2:2". Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct HostSlots {
  std::string name;
  int slots = 0;  // ranks; 0: as many as the host has GPUs or cores
  bool operator==(const HostSlots&) const = default;
};

// One host per line, "node1 slots=2"; "max_slots=N" is accepted and unused, "#" begins a comment. Throws
// InputError with `file` and the line for anything else, for a host that stands twice, and if there is none.
std::vector<HostSlots> parse_hostfile(std::string_view text, const std::string& file);

// "node1:2,node2"
std::vector<HostSlots> parse_host_list(std::string_view text);

// How `ranks` are spread: each host in turn up to its slots. 0 ranks: all slots. Hosts that get none are left
// out. Throws InputError if there are more ranks than slots. REQUIRES slots of 1 and more.
std::vector<HostSlots> fill_hosts(const std::vector<HostSlots>& hosts, int ranks);

// As mpirun reads it, with the slots of each host.
std::string hostfile_text(const std::vector<HostSlots>& hosts);

}  // namespace tandem

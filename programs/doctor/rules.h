// From facts to findings. Pure functions, one per room of ailments; together they are examine().
#pragma once

#include "doctor/facts.h"
#include "doctor/finding.h"
#include "machine/machine.h"

namespace tandem {

// The host that the doctor runs on.
struct Patient {
  Host host;
  Surroundings around;
  Measurements measured;  // what was not tried is not judged
};

// All of the below, worst first and otherwise in this order.
Findings examine(const Patient& patient);

void examine_programs(const Patient& patient, Findings& findings);   // mpirun, libraries, ranks that start
void examine_start(const Patient& patient, Findings& findings);      // of examine_programs: how ranks start
void examine_system(const Patient& patient, Findings& findings);     // memory, limits, cores
void examine_load(const Patient& patient, Findings& findings);       // of examine_system: other programs
void examine_variables(const Patient& patient, Findings& findings);  // environment and nccl.conf
void examine_gpus(const Patient& patient, Findings& findings);       // each GPU, and how they differ
void examine_links(const Patient& patient, Findings& findings);      // NVLink, PCIe, peer access

// What one direction of a pair should carry in 1e9 bytes per second: NVLinks of their generation, else the
// narrower PCIe link of the two. None if it is not known.
//   NVLink 1: 20 per link, 2 to 4: 25, 5: 50 (NVIDIA's architecture white papers)
//   PCIe 3, 4, 5, 6: 0.985, 1.969, 3.938, 7.563 per lane (PCI-SIG, after coding)
std::optional<double> nominal_gb_per_s(const Host& host, const GpuPair& pair);

}  // namespace tandem

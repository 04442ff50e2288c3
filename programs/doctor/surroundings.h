// Finds out what surrounds a job on this host, without starting anything.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "doctor/facts.h"

namespace tandem {

// Shared memory, limits, IOMMU, folders, interfaces, and those of `variables` that change what a job does.
// What other programs must be asked for (mpirun, the probe) is left to the caller.
Surroundings look_around(const std::map<std::string, std::string>& variables);

// Why a job can keep no files in `folder`, in the system's words; "" if it can. One that is not there is
// judged by the folder that it would be made in, as mpirun does.
std::string fault_of_folder(std::filesystem::path folder);

// The files that NCCL reads, first the one whose settings win: $NCCL_CONF_FILE or ~/.nccl.conf, then
// /etc/nccl.conf (NCCL user guide, "Environment Variables"). Only those that exist and set something.
std::vector<NcclFile> nccl_files(const std::map<std::string, std::string>& variables);

// The settings in one such file: lines with '=', without comments.
std::vector<std::string> nccl_settings(std::string_view text);

// The program that `name` means on the PATH; "" if there is none.
std::filesystem::path find_on_path(const std::string& name,
                                   const std::map<std::string, std::string>& variables);

// Whether a driver of NVIDIA's is loaded, or the device files of one are there.
bool gpus_may_be_here();

}  // namespace tandem

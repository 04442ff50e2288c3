// The results of a job in one place: the launcher's.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/launch.h"

namespace tandem {

// Rank 0 writes the record, and its host need not be this one. Fetches what is not here yet through the
// agent; does nothing if the folder is shared or rank 0 ran here. What a rank prints arrives by mpirun.
// Throws Error if the record cannot be had.
void gather_results(const Launch& launch, const std::filesystem::path& folder);

// The program that starts a command on another host, with its options: `agent` or, where that is empty, an
// ssh that asks nobody for a password and does not wait for a host that is switched off.
std::vector<std::string> agent_words(const std::string& agent);

// The command that runs `remote` (a shell's text) on `host`, for kHostAnswer_s at most.
std::vector<std::string> agent_command(const std::string& agent, const std::string& host,
                                       const std::string& remote);

// Holds the launcher's lock on a folder of results, so that two launchers do not write into one. Throws
// InputError if another one has it or the folder cannot be written to.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace tandem

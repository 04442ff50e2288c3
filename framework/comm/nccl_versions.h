// Is the NCCL that was loaded the one that this program was built for?
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace tandem {

struct NcclVersions {
  std::string header;               // "2.28.3": what was compiled against
  std::string library;              // what was loaded
  std::string path;                 // of the loaded library
  std::vector<std::string> copies;  // every libnccl that is mapped into this process
};

// The files whose names start with "libnccl.so" in a text of the form of /proc/self/maps, each once.
std::vector<std::string> mapped_nccl_copies(std::istream& maps);

// "2.28.9" from NCCL's version code, 22809.
std::string nccl_version_text(int code);

// Throws Error if the first two numbers of the versions differ, or if there is more than one copy: whichever
// the dynamic linker found first would answer calls that were compiled for the other. Names versions, paths
// and what to do.
void expect_usable_nccl(const NcclVersions& versions);

}  // namespace tandem

#include "comm/nccl_versions.h"

#include <algorithm>
#include <string_view>

#include "core/error.h"

namespace tandem {
namespace {

constexpr const char* kAdvice = "look at LD_LIBRARY_PATH, or configure again with the library that is found";

// "2.28" of "2.28.9".
std::string_view release_of(std::string_view version) {
  return version.substr(0, version.find('.', version.find('.') + 1));
}

}  // namespace

std::vector<std::string> mapped_nccl_copies(std::istream& maps) {
  std::vector<std::string> copies;
  for (std::string line; std::getline(maps, line);) {
    const auto path = line.find('/');
    const auto name = line.rfind('/');
    if (name == std::string::npos || !line.substr(name + 1).starts_with("libnccl.so")) continue;
    auto copy = line.substr(path);
    if (std::ranges::find(copies, copy) == copies.end()) copies.push_back(std::move(copy));
  }
  return copies;
}

std::string nccl_version_text(int code) {
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

void expect_usable_nccl(const NcclVersions& versions) {
  TANDEM_EXPECT(release_of(versions.header) == release_of(versions.library),
                "this program was built for NCCL {} and the dynamic linker found {} at {}: {}",
                versions.header, versions.library, versions.path, kAdvice);
  TANDEM_EXPECT(versions.copies.size() <= 1, "several copies of NCCL are loaded, {}: {}",
                fmt::join(versions.copies, " and "), kAdvice);
}

}  // namespace tandem

#include "comm/nccl_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/error.h"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string refusal(const NcclVersions& versions) {
  try {
    expect_usable_nccl(versions);
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}

TEST(MappedNcclCopies, NamesEachFileOnce) {
  std::istringstream maps(
      "7f01-7f02 r--p 00000000 08:01 11   /usr/lib/x86_64-linux-gnu/libnccl.so.2.28.9\n"
      "7f02-7f03 r-xp 00001000 08:01 11   /usr/lib/x86_64-linux-gnu/libnccl.so.2.28.9\n"
      "7f04-7f05 r-xp 00001000 08:01 12   /opt/my nccl/libnccl.so.2\n"
      "7f06-7f07 r-xp 00001000 08:01 13   /usr/lib/x86_64-linux-gnu/libnccl-net.so\n"
      "7f08-7f09 rw-p 00000000 00:00 0 \n"
      "7ffe-7fff rw-p 00000000 00:00 0    [stack]\n");
  EXPECT_THAT(mapped_nccl_copies(maps),
              ElementsAre("/usr/lib/x86_64-linux-gnu/libnccl.so.2.28.9", "/opt/my nccl/libnccl.so.2"));
  std::istringstream none("7f08-7f09 r-xp 00000000 08:01 14   /usr/lib/libmpi.so.40\n");
  EXPECT_THAT(mapped_nccl_copies(none), IsEmpty());
}

TEST(NcclVersions, AreReadFromTheCode) {
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
  EXPECT_EQ(nccl_version_text(22003), "2.20.3");
}

TEST(UsableNccl, MayBeAnotherPatchOfTheSameRelease) {
  EXPECT_NO_THROW(expect_usable_nccl({"2.28.3", "2.28.9", "/a/libnccl.so.2", {"/a/libnccl.so.2"}}));
  EXPECT_NO_THROW(expect_usable_nccl({"2.28.3", "2.28.9", "unknown", {}}));
}

TEST(UsableNccl, IsOfTheHeadersRelease) {
  EXPECT_THAT(refusal({"2.28.3", "2.27.3", "/a/libnccl.so.2", {"/a/libnccl.so.2"}}),
              AllOf(HasSubstr("2.28.3"), HasSubstr("2.27.3"), HasSubstr("/a/libnccl.so.2")));
  EXPECT_THAT(refusal({"2.2.0", "2.28.9", "/a", {}}), HasSubstr("LD_LIBRARY_PATH"));
}

TEST(UsableNccl, IsTheOnlyCopy) {
  EXPECT_THAT(refusal({"2.28.9", "2.28.9", "/a/libnccl.so.2", {"/a/libnccl.so.2", "/b/libnccl.so.2"}}),
              HasSubstr("/a/libnccl.so.2 and /b/libnccl.so.2"));
}

}  // namespace
}  // namespace tandem

#include "comm/mpi_session.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tandem {
namespace {

TEST(OpenMpiMajor, IsReadFromTheVersionText) {
  EXPECT_EQ(open_mpi_major("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), 4);
  EXPECT_EQ(open_mpi_major("Open MPI v5.0.10rc1"), 5);
  EXPECT_EQ(open_mpi_major("Open MPI v12.0.0"), 12);
}

TEST(OpenMpiMajor, OfAnotherLibraryIsAnError) {
  EXPECT_THROW(open_mpi_major("MPICH Version: 4.0.2"), Error);
  EXPECT_THROW(open_mpi_major("Open MPI vX"), Error);
  EXPECT_THROW(open_mpi_major(""), Error);
}

TEST(MpiLibraryVersion, IsKnownBeforeMpiStarts) {
  EXPECT_GE(open_mpi_major(mpi_library_version()), 4);
}

}  // namespace
}  // namespace tandem

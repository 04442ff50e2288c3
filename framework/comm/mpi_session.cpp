#include "comm/mpi_session.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>

#include "comm/deadline.h"
#include "comm/host_name.h"
#include "comm/mpi_world.h"

namespace tandem {
namespace {

constexpr std::chrono::seconds kAbortGrace{3};

std::string name_of_thread_level(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

}  // namespace

MpiSession::MpiSession(std::chrono::milliseconds timeout)
    : timeout_(timeout),
      world_(std::make_unique<MpiWorld>()),
      exceptions_at_start_(std::uncaught_exceptions()) {
  const Deadline start("MPI_Init", timeout_);
  int provided = MPI_THREAD_SINGLE;
  TANDEM_MPI(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
  if (provided < MPI_THREAD_SERIALIZED) {
    MPI_Finalize();
    throw Error("MPI", "MPI_Init_thread",
                fmt::format("{} gives {} only, but communication runs on a thread of its own and needs "
                            "MPI_THREAD_SERIALIZED; use an MPI built with thread support",
                            mpi_library_version(), name_of_thread_level(provided)));
  }
  TANDEM_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  TANDEM_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &world_->handle));
  TANDEM_MPI(MPI_Comm_set_errhandler(world_->handle, MPI_ERRORS_RETURN));
  TANDEM_MPI(MPI_Comm_rank(world_->handle, &identity_.rank.value));
  TANDEM_MPI(MPI_Comm_size(world_->handle, &identity_.world_size));
  identity_.host = host_name();
}

MpiSession::~MpiSession() {
  if (std::uncaught_exceptions() > exceptions_at_start_) abort(1);
  const Deadline end("MPI_Finalize", timeout_);
  MPI_Comm_free(&world_->handle);
  MPI_Finalize();
}

void MpiSession::abort(int exit_code) const {
  std::fflush(nullptr);
  std::thread([exit_code] {
    std::this_thread::sleep_for(kAbortGrace);
    _exit(exit_code);
  }).detach();
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  _exit(exit_code);
}

std::string mpi_library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  TANDEM_MPI(MPI_Get_library_version(text.data(), &length));
  return text.data();
}

std::string mpi_header_version() {
  return fmt::format("{}.{}.{}", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION);
}

std::string mpi_library_path() {
  Dl_info info{};
  const bool found =
      dladdr(reinterpret_cast<void*>(&MPI_Get_library_version), &info) != 0 && info.dli_fname != nullptr;
  return found ? info.dli_fname : "unknown";
}

int open_mpi_major(const std::string& library_version) {
  constexpr std::string_view kName = "Open MPI v";
  int major = 0;
  const auto start = library_version.find(kName);
  if (start != std::string::npos) {
    const char* digits = library_version.data() + start + kName.size();
    std::from_chars(digits, library_version.data() + library_version.size(), major);
  }
  TANDEM_EXPECT(major > 0, "links are chosen for Open MPI only; this program is linked with \"{}\"",
                library_version);
  return major;
}

}  // namespace tandem

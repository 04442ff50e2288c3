// mpirun, the libraries that were loaded, and whether ranks come up.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "doctor/rules.h"

namespace tandem {
namespace {

constexpr std::string_view kNoVersion;

// "4.1.4" of "mpirun (Open MPI) 4.1.4" and of "Open MPI v4.1.4, package: …": the first number with a dot.
std::string_view version_in(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  for (auto at = text.find_first_of(kDigits); at != std::string_view::npos;) {
    const auto end = std::min(text.find_first_not_of("0123456789.", at), text.size());
    const auto word = text.substr(at, end - at);
    if (word.find('.') != std::string_view::npos) return word;
    at = text.find_first_of(kDigits, end);
  }
  return kNoVersion;
}

// "2.28" of "2.28.9", "13" of "13.0" with one part.
std::string_view leading_parts(std::string_view version, int parts) {
  std::size_t end = 0;
  for (; parts > 0 && end < version.size(); --parts) {
    end = version.find('.', end + (end > 0 ? 1 : 0));
    if (end == std::string_view::npos) return version;
  }
  return version.substr(0, end);
}

const LibraryVersion* find_library(const Surroundings& around, std::string_view name) {
  const auto found = std::ranges::find(around.libraries, name, &LibraryVersion::name);
  return found == around.libraries.end() ? nullptr : &*found;
}

void examine_probe(const Surroundings& around, Findings& findings) {
  if (around.probe_failure.empty()) return;
  findings.push_back({.severity = Severity::Failure,
                      .id = "programs-do-not-start",
                      .what = "The programs do not start here: " + around.probe_failure,
                      .why = "The trainer links the same libraries, so it will not start either.",
                      .advice = "build again on this machine (scripts/build.sh build), or put the missing "
                                "library's folder on LD_LIBRARY_PATH"});
}

void examine_mpirun(const Surroundings& around, Findings& findings) {
  if (around.mpirun.empty()) {
    findings.push_back({.severity = Severity::Failure,
                        .id = "mpirun-missing",
                        .what = "There is no mpirun on the PATH.",
                        .why = "mpirun starts the ranks of a job; without it only one rank can run.",
                        .advice = "scripts/setup.sh, or apt-get install openmpi-bin"});
    return;
  }
  const auto* linked = find_library(around, "MPI");
  if (linked == nullptr) return;
  const auto starter = version_in(around.mpirun);
  const auto library = version_in(linked->loaded);
  const bool open_mpi = around.mpirun.find("Open MPI") != std::string::npos;
  if (open_mpi && (library.empty() || starter == library)) return;
  findings.push_back(
      {.severity = Severity::Failure,
       .id = "mpirun-foreign",
       .what = fmt::format("mpirun is \"{}\" ({}), and the programs are linked with Open MPI {} ({}).",
                           around.mpirun, around.mpirun_path, library, linked->path),
       .why = "Ranks that another MPI starts do not find each other: each runs alone as rank 0 of 1.",
       .advice = "put the mpirun of that library first on the PATH, or build again with this mpirun's MPI"});
}

void examine_version(const LibraryVersion& library, Findings& findings) {
  if (library.copies.size() > 1)
    findings.push_back(
        {.severity = Severity::Failure,
         .id = "library-copies",
         .what = fmt::format("{} copies of {} are loaded: {}.", library.copies.size(), library.name,
                             fmt::join(library.copies, " and ")),
         .why = "Calls go to whichever the dynamic linker found first; mixed, they crash or hang.",
         .advice = "look at LD_LIBRARY_PATH, and at wheels of Python that bring their own copy"});
  if (library.header.empty() || library.loaded.empty()) return;
  // Within a release, libraries keep their binary interface. NCCL's and MPI's releases have two numbers.
  const int parts = library.name == "NCCL" || library.name == "MPI" ? 2 : 1;
  const auto header = version_in(library.header);
  const auto loaded = version_in(library.loaded);
  if (leading_parts(header, parts) == leading_parts(loaded, parts)) return;
  findings.push_back({.severity = Severity::Failure,
                      .id = "library-version",
                      .what = fmt::format("{} {} was loaded from {}, and the programs were built for {}.",
                                          library.name, loaded, library.path, header),
                      .why = "Structures and calls may differ between the two.",
                      .advice = "look at LD_LIBRARY_PATH, or build again with the library that is found"});
}

void examine_driver(const Patient& patient, Findings& findings) {
  const auto* runtime = find_library(patient.around, "CUDA runtime");
  if (runtime == nullptr || patient.host.driver_cuda.empty()) return;
  const auto major = [](std::string_view version) { return std::atoi(std::string(version).c_str()); };
  if (major(runtime->loaded) <= major(patient.host.driver_cuda)) return;
  findings.push_back(
      {.severity = Severity::Failure,
       .id = "driver-old",
       .what = fmt::format("Driver {} supports CUDA up to {}, and the programs were built with CUDA {}.",
                           patient.host.driver, patient.host.driver_cuda, runtime->loaded),
       .why = "A driver runs programs of older and of its own major CUDA version, not of newer ones.",
       .advice = "update the driver, or build with an older CUDA Toolkit"});
}

}  // namespace

void examine_programs(const Patient& patient, Findings& findings) {
  examine_probe(patient.around, findings);
  examine_mpirun(patient.around, findings);
  for (const auto& library : patient.around.libraries) examine_version(library, findings);
  examine_driver(patient, findings);
  examine_start(patient, findings);
}

}  // namespace tandem

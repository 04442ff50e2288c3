// Which of Open MPI's transports carries the bytes of CPU ranks, decided before MPI_Init.
#pragma once

#include <map>
#include <string>

namespace tandem {

enum class LinkWish { Auto, Shm, Tcp };

// What the choice depends on. The caller finds it out; choosing reads nothing else.
struct LinkSite {
  int open_mpi_major = 4;  // open_mpi_major() of mpi_session.h
  bool one_host = true;    // all ranks of the job on this machine
  // Whether the kernel lets a process read another's memory (cross_memory_attach_works()).
  bool cross_memory_attach = true;
};

using Environment = std::map<std::string, std::string>;

// The OMPI_MCA_* variables to set before MPI_Init so that `wish` comes true. Setting a wish is no proof of
// it: see transport_proof.h.
//   auto  Open MPI's own choice
//   tcp   sockets; on one host over the loopback interface only
//   shm   shared memory, named "vader" by Open MPI 4 and "sm" since 5; one host only
// Where the kernel forbids cross-memory attach, shm and auto also switch Open MPI's use of it off.
// `users` is the environment the program was started with. Throws InputError if one of its OMPI_MCA_*
// variables would have to be overridden (naming both), or if shm is wished for over several hosts.
Environment choose_link(LinkWish wish, const LinkSite& site, const Environment& users);

// Container runtimes often forbid process_vm_readv, by which Open MPI 4 copies large messages in one go; it
// then complains about every message ("Read -1, expected …", open-mpi/ompi#4948). Tries the call on this
// process itself.
bool cross_memory_attach_works();

}  // namespace tandem

// Collectives written out: ranks in a ring, each talking to its two neighbours only.
#pragma once

#include <memory>

#include "comm/host_collectives.h"

namespace tandem {

// The tensor is cut into n pieces, one per rank, that differ by at most one element. n ranks, S bytes:
//
//   reduce-scatter, step s = 0 … n-2: rank r sends piece r-s-1 to rank r+1, and adds piece r-s-2, which comes
//   from rank r-1, to its own. After n-1 steps piece r on rank r has been through every rank: it is the sum.
//   all-gather, step s = 0 … n-2: rank r sends piece r-s and receives piece r-s-1, complete, over its own.
//
// (piece numbers modulo n). An all-reduce is one after the other: each rank sends 2(n-1)/n S bytes, the least
// that is possible, on every link of the ring at once, in 2(n-1) steps (Patarasuk and Yuan, 2009). Piece p is
// summed once, in the order of ranks p+1, p+2, …, p, and then copied, so all ranks get the same bits.
//
// Needs only send and receive, and is compared with the MPI library's collectives by the tests.
std::unique_ptr<HostCollectives> make_ring_collectives();

}  // namespace tandem

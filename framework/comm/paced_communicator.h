// A slower link than the one at hand: real bytes, and then a wait until the modelled link would be done.
#pragma once

#include <memory>

#include "comm/collective_cost.h"
#include "comm/communicator.h"

namespace tandem {

// Decorates a communicator of CPU ranks (it enqueues on CPU streams). Each collective ends on the stream no
// earlier than modelled_time() after all ranks have reached it; the stream's thread sleeps, so computation
// keeps its core, as it does under a network card. If the real link is slower than the model, nothing is
// added.
//
// A wire cannot carry a sum before the last rank has given its part, so the model's clock must not start when
// this rank arrives: an early rank would be let go before a late one is. Ranks' clocks cannot be compared;
// instead each collective is preceded by an all-reduce of one integer, and the clock starts when that ends. A
// collective thus takes the model's time plus that exchange (some 10 us in shared memory, 100 us on loopback
// TCP).
//
// description(): "<inner>, paced to 1 Gbit/s, 50 us".
std::unique_ptr<Communicator> make_paced_communicator(std::unique_ptr<Communicator> inner, LinkModel link);

}  // namespace tandem

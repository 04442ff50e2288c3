#pragma once

namespace tandem {

// Linux may end a thread's sleep 50 us late so that timers can be served together. Lowers that to 1 us for
// the calling thread, for sleeps that are themselves a few tens of microseconds.
void take_short_sleeps();

}  // namespace tandem

#include "comm/short_sleep.h"

#include <sys/prctl.h>

namespace tandem {

void take_short_sleeps() {
  constexpr unsigned long kSlackNs = 1000;
  prctl(PR_SET_TIMERSLACK, kSlackNs);
}

}  // namespace tandem

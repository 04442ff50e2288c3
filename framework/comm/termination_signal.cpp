#include "comm/termination_signal.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include "core/error.h"

namespace tandem {

TerminationSignal::TerminationSignal() {
  sigset_t termination;
  sigemptyset(&termination);
  sigaddset(&termination, SIGTERM);
  TANDEM_EXPECT(pthread_sigmask(SIG_BLOCK, &termination, &before_) == 0, "SIGTERM cannot be blocked");
  descriptor_ = signalfd(-1, &termination, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  TANDEM_EXPECT(descriptor_ >= 0, "signalfd failed: no file descriptors left?");
}

TerminationSignal::~TerminationSignal() {
  close(descriptor_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace tandem

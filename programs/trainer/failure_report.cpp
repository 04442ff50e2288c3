#include "trainer/failure_report.h"

#include <poll.h>

#include <new>
#include <stdexcept>

#include "core/error.h"
#include "environment/error_report.h"

namespace tandem {
namespace {

constexpr int kHoldBackMs = 2000;

// What is wrong is often wrong on all ranks, and mpirun ends the others when the first has exited: they hold
// back for a moment, so that an error that rank 0 has too is printed once and one that it has not is still
// printed.
void print_once(const std::string& text, int rank, const TerminationSignal& termination) {
  pollfd ended{.fd = termination.descriptor(), .events = POLLIN, .revents = 0};
  if (rank > 0 && poll(&ended, 1, kHoldBackMs) > 0) return;
  print_error(text);
}

std::string no_memory_left(const std::exception& error) {
  return InputError({.what = "there is not enough memory",
                     .where = "the sizes in the configuration",
                     .expected = "a model, its activations and a few batches that fit in memory",
                     .found = error.what(),
                     .advice = "lower train.micro_batch, train.accumulation or data.prefetch, or choose a "
                               "smaller model or smaller images"})
      .what();
}

}  // namespace

int report_failure(int rank, const std::string& host, const TerminationSignal& termination) {
  try {
    throw;
  } catch (const InputError& error) {
    print_once(error.what(), rank, termination);
    return kInputErrorStatus;
  } catch (const Error& error) {
    print_once(error.describe(rank, host), rank, termination);
  } catch (const std::bad_alloc& error) {
    print_once(no_memory_left(error), rank, termination);
  } catch (const std::length_error& error) {  // of a container that could never be so long
    print_once(no_memory_left(error), rank, termination);
  } catch (const std::exception& error) {
    print_once(error.what(), rank, termination);
  }
  return kFailureStatus;
}

}  // namespace tandem

// MPI's header and error codes, for the sources of this folder only: nothing outside sees mpi.h.
#pragma once

#include <mpi.h>

#include <source_location>

#include "core/error.h"

namespace tandem {

// Throws Error{"MPI", …} with MPI's own text unless `code` is MPI_SUCCESS. Codes reach us because MpiSession
// sets MPI_ERRORS_RETURN.
inline void check_mpi(int code, const char* expression,
                      std::source_location site = std::source_location::current()) {
  if (code == MPI_SUCCESS) [[likely]]
    return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error("MPI", expression, text, site);
}

}  // namespace tandem

#define TANDEM_MPI(expression) ::tandem::check_mpi((expression), #expression)

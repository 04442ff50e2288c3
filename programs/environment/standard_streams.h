// Standard input, output and error, there in every process.
#pragma once

namespace tandem {

// A program may be started with some of the three closed. The next files and sockets that it opens then get
// these numbers, and what it prints goes into them: into a record, or into a connection between ranks. Call
// this first thing in main: what is closed is opened on /dev/null.
void open_standard_streams();

// Throws InputError if what was printed cannot be written, as on a disk that is full: else a program whose
// output is lost ends as if all were well. Call this last.
void finish_standard_output();

}  // namespace tandem

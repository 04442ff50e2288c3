// What the probe tells of itself and of the rank that it is: lines of doctor/facts.h on standard output.
#pragma once

namespace tandem {

// Libraries with versions and paths, as they were loaded into this process.
void report_facts();

// This host as a machine of one, in JSON.
void report_machine();

// Called on every rank of a job, or alone. Rank 0 prints a line for each. Returns the exit status.
int report_ranks();

}  // namespace tandem

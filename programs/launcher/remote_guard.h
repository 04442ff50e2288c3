// What runs around Open MPI's daemon on another host, so that nothing is left there when the host is cut off.
//
// Ranks that hear nothing from the others end after comm.timeout_s. Open MPI's daemon (orted, prted) above
// them does not: it tells mpirun so and waits for an answer, for a quarter of an hour or for ever. The guard
// starts the daemon and ends it when it has had ranks and has had none for kDaemonGrace_s.
//
// mpirun starts daemons through an agent, "ssh HOST COMMAND". The launcher puts itself in between: `launcher
// agent ssh HOST COMMAND` becomes `ssh HOST launcher guard COMMAND`. Both subcommands are for this only.
#pragma once

#include <string>
#include <vector>

namespace tandem {

inline constexpr double kDaemonGrace_s = 5.0;

// The command for `launcher agent`: `arguments` are the agent's words, the host and the words of the command.
// The agent has `agent_words` words.
std::vector<std::string> guarded_command(const std::vector<std::string>& arguments, std::size_t agent_words,
                                         const std::string& launcher);

// `launcher agent WORDS ARGUMENTS…`: replaces this process by the command above. Throws InputError if that
// cannot be started.
[[noreturn]] void run_agent(const std::vector<std::string>& arguments);

// `launcher guard COMMAND`: runs a shell's command as described above. Returns its exit status, or 75 if it
// had to be ended. Call it from the process's only thread.
int run_guard(const std::string& command);

}  // namespace tandem

#include "comm/link.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <set>
#include <sstream>
#include <string_view>

#include "core/error.h"

namespace tandem {
namespace {

constexpr std::string_view kPrefix = "OMPI_MCA_";

std::string_view name_of(LinkWish wish) {
  switch (wish) {
    case LinkWish::Auto:
      return "auto";
    case LinkWish::Shm:
      return "shm";
    case LinkWish::Tcp:
      return "tcp";
  }
  return "unknown";
}

// "tcp,self" and "self,tcp" choose the same components.
std::set<std::string> components(const std::string& list) {
  std::set<std::string> names;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');) names.insert(name);
  return names;
}

[[noreturn]] void fail_conflict(LinkWish wish, const std::string& variable, const std::string& ours,
                                const std::string& users) {
  throw InputError(
      {.what = "the link of the config and an Open MPI variable of the environment disagree",
       .where = fmt::format("comm.link: {} and {}", name_of(wish), variable),
       .expected = ours.empty() ? fmt::format("{} unset", variable) : fmt::format("{}={}", variable, ours),
       .found = fmt::format("{}={}", variable, users),
       .advice = fmt::format("unset {}, or set comm.link: auto to leave the choice to Open MPI", variable)});
}

void expect_unset(LinkWish wish, const std::string& parameter, const Environment& users) {
  const auto found = users.find(std::string(kPrefix) + parameter);
  if (found != users.end()) fail_conflict(wish, found->first, "", found->second);
}

Environment tcp_parameters(const LinkSite& site, const Environment& users) {
  Environment wanted{{"pml", "ob1"}, {"btl", "self,tcp"}};
  if (site.one_host) {
    // Open MPI leaves the loopback interface out unless it is named, and refuses include and exclude
    // together.
    expect_unset(LinkWish::Tcp, "btl_tcp_if_exclude", users);
    wanted["btl_tcp_if_include"] = "lo";
  }
  return wanted;
}

Environment wanted_parameters(LinkWish wish, const LinkSite& site, const Environment& users) {
  switch (wish) {
    case LinkWish::Auto:
      return {};
    case LinkWish::Tcp:
      return tcp_parameters(site, users);
    case LinkWish::Shm:
      return {{"pml", "ob1"}, {"btl", site.open_mpi_major < 5 ? "self,vader" : "self,sm"}};
  }
  return {};
}

// Not part of any wish, so a value of the user's stays.
void avoid_forbidden_copies(LinkWish wish, const LinkSite& site, const Environment& users,
                            Environment& chosen) {
  if (wish == LinkWish::Tcp || site.cross_memory_attach) return;
  const auto variable =
      std::string(kPrefix) + (site.open_mpi_major < 5 ? "btl_vader_single_copy_mechanism" : "smsc");
  if (!users.contains(variable)) chosen[variable] = site.open_mpi_major < 5 ? "none" : "^cma";
}

}  // namespace

Environment choose_link(LinkWish wish, const LinkSite& site, const Environment& users) {
  if (wish == LinkWish::Shm && !site.one_host) {
    throw InputError({.what = "shared memory cannot join ranks on several hosts",
                      .where = "comm.link",
                      .expected = "auto or tcp for a job on several hosts",
                      .found = "shm",
                      .advice = "set comm.link: tcp, or start all ranks on one host"});
  }
  Environment chosen;
  for (const auto& [parameter, value] : wanted_parameters(wish, site, users)) {
    const auto variable = std::string(kPrefix) + parameter;
    const auto users_value = users.find(variable);
    if (users_value != users.end() && components(users_value->second) != components(value)) {
      fail_conflict(wish, variable, value, users_value->second);
    }
    chosen[variable] = value;
  }
  avoid_forbidden_copies(wish, site, users, chosen);
  return chosen;
}

bool cross_memory_attach_works() {
  std::uint64_t from = 0x7a11;
  std::uint64_t to = 0;
  const iovec local{&to, sizeof(to)};
  const iovec remote{&from, sizeof(from)};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof(from));
}

}  // namespace tandem

#include "comm/nccl_link.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "core/error.h"

namespace tandem {
namespace {

constexpr std::string_view kPrefix = "NCCL_";

std::string_view name_of(NcclLinkWish wish) {
  switch (wish) {
    case NcclLinkWish::Auto:
      return "auto";
    case NcclLinkWish::NvLink:
      return "nvlink";
    case NcclLinkWish::Pcie:
      return "pcie";
    case NcclLinkWish::Net:
      return "net";
  }
  return "unknown";
}

// NCCL reads an unset switch as 0 but for NCCL_WIN_ENABLE, and the wishes below never ask for that one's
// default.
struct Switch {
  const char* variable;
  bool on;
};

std::vector<Switch> wanted_switches(NcclLinkWish wish, PeerPath peers) {
  switch (wish) {
    case NcclLinkWish::Auto:
      return {};
    case NcclLinkWish::NvLink:
      return {{"NCCL_P2P_DISABLE", false}};
    case NcclLinkWish::Pcie:
      return {{"NCCL_P2P_DISABLE", peers != PeerPath::Pcie},
              {"NCCL_SHM_DISABLE", false},
              {"NCCL_WIN_ENABLE", false}};
    case NcclLinkWish::Net:
      return {{"NCCL_P2P_DISABLE", true}, {"NCCL_SHM_DISABLE", true}, {"NCCL_WIN_ENABLE", false}};
  }
  return {};
}

[[noreturn]] void fail_conflict(NcclLinkWish wish, const std::string& expected, const std::string& variable,
                                const std::string& users) {
  throw InputError(
      {.what = "the link of the config and an NCCL variable of the environment disagree",
       .where = fmt::format("comm.link: {} and {}", name_of(wish), variable),
       .expected = expected,
       .found = fmt::format("{}={}", variable, users),
       .advice = fmt::format("unset {}, or set comm.link: auto to leave the choice to NCCL", variable)});
}

void choose_switch(NcclLinkWish wish, const Switch& wanted, const Environment& users, Environment& chosen) {
  const auto* value = wanted.on ? "1" : "0";
  const auto found = users.find(wanted.variable);
  if (found != users.end() && found->second != value) {
    fail_conflict(wish, fmt::format("{}={}, or unset", wanted.variable, value), found->first, found->second);
  }
  if (wanted.on || std::string_view(wanted.variable) == "NCCL_WIN_ENABLE")
    chosen.emplace(wanted.variable, value);
}

// NCCL_P2P_LEVEL says up to which distance peers are used; it would silently narrow what a wish allows.
void refuse_level(NcclLinkWish wish, const Environment& users) {
  const auto found = users.find("NCCL_P2P_LEVEL");
  if (wish == NcclLinkWish::Auto || found == users.end()) return;
  fail_conflict(wish, "NCCL_P2P_LEVEL unset", found->first, found->second);
}

void refuse_what_is_not_there(NcclLinkWish wish, const NcclSite& site) {
  const bool missing = site.peers == PeerPath::None || site.peers == PeerPath::Pcie;
  if (wish == NcclLinkWish::NvLink && missing) {
    throw InputError({.what = "the GPUs of this host are not joined by NVLink",
                      .where = "comm.link",
                      .expected = "auto, pcie or net",
                      .found = fmt::format("nvlink, and {}", site.peers == PeerPath::None
                                                                 ? "no access between the GPUs"
                                                                 : "access between the GPUs over PCIe"),
                      .advice = "set comm.link: auto; nvidia-smi topo -m shows what joins the GPUs"});
  }
  if (wish != NcclLinkWish::Auto && wish != NcclLinkWish::Net && !site.one_host) {
    throw InputError({.what = "this link joins GPUs of one host, and the ranks are on several",
                      .where = "comm.link",
                      .expected = "auto or net for a job on several hosts",
                      .found = std::string(name_of(wish)),
                      .advice = "set comm.link: auto, or start all ranks on one host"});
  }
}

// The log is the proof of the transport, so it must exist, at a known place, and hold what is looked for.
void choose_log(const NcclSite& site, const Environment& users, Environment& chosen) {
  if (const auto file = users.find("NCCL_DEBUG_FILE"); file != users.end()) {
    throw InputError(
        {.what = "NCCL's log is part of the run, and the environment sends it elsewhere",
         .where = "NCCL_DEBUG_FILE",
         .expected = "NCCL_DEBUG_FILE unset",
         .found = file->second,
         .advice = fmt::format("unset NCCL_DEBUG_FILE; the log of this rank is {}", site.log_file)});
  }
  std::string parts = site.log_algorithms ? "INIT,ENV,GRAPH,TUNING" : "INIT,ENV,GRAPH";
  if (const auto users_parts = users.find("NCCL_DEBUG_SUBSYS"); users_parts != users.end()) {
    if (users_parts->second.starts_with('^')) {
      throw InputError({.what = "NCCL's log proves which transport was used, and the environment cuts it",
                        .where = "NCCL_DEBUG_SUBSYS",
                        .expected = "parts to add to the log, such as COLL",
                        .found = users_parts->second,
                        .advice = "unset NCCL_DEBUG_SUBSYS"});
    }
    parts += "," + users_parts->second;
  }
  const auto level = users.find("NCCL_DEBUG");
  if (level == users.end() || level->second != "TRACE") chosen.emplace("NCCL_DEBUG", "INFO");
  chosen.emplace("NCCL_DEBUG_SUBSYS", parts);
  chosen.emplace("NCCL_DEBUG_FILE", site.log_file);
}

}  // namespace

Environment choose_nccl_link(NcclLinkWish wish, const NcclSite& site, const Environment& users) {
  refuse_what_is_not_there(wish, site);
  refuse_level(wish, users);
  Environment chosen;
  for (const auto& wanted : wanted_switches(wish, site.peers)) choose_switch(wish, wanted, users, chosen);
  if (!users.contains("NCCL_NVLS_ENABLE")) chosen.emplace("NCCL_NVLS_ENABLE", "0");
  choose_log(site, users, chosen);
  return chosen;
}

Environment nccl_variables(const Environment& variables) {
  Environment found;
  for (const auto& [name, value] : variables) {
    if (name.starts_with(kPrefix)) found[name] = value;
  }
  return found;
}

}  // namespace tandem

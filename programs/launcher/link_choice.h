// The links that `launcher compare --links` understands: a name becomes the config keys that ask for it.
//
//   LINK[@PACE][-no-overlap]
//   LINK   shm, tcp, net, nvlink, pcie or auto: comm.link
//   PACE   0.5gbit, 100us or 0.5gbit+100us: comm.pace_gbit and comm.pace_latency_us
//   paced  short for tcp@1gbit+50us
//   -no-overlap (or :no-overlap)  comm.schedule=after: all-reduce after the backward pass instead of during
//   it
//
// A choice sets all of these keys, so that what a config says of them does not leak into a comparison of
// links; without -no-overlap, the schedule is left to the config. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct LinkChoice {
  std::string label;                   // of the row and of the folder; ":no-overlap" is written "-no-overlap"
  std::vector<std::string> overrides;  // "comm.link=tcp", …
  bool operator==(const LinkChoice&) const = default;
};

// Throws InputError naming the text and what is allowed.
LinkChoice parse_link(std::string_view text);

// One choice per text; also throws if there is none or one stands there twice.
std::vector<LinkChoice> parse_links(const std::vector<std::string>& texts);

}  // namespace tandem

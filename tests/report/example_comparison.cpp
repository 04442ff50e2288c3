#include "example_comparison.h"

#include <fmt/format.h>

#include "example_record.h"

namespace tandem {
namespace {

ComparedLink make_link(const std::string& label, const std::string& asked,
                       const std::vector<double>& epoch_s) {
  ComparedLink link{.label = label, .asked = asked, .repeats = {}};
  for (const double seconds : epoch_s) {
    RunRecord run = example_record();
    run.name = fmt::format("{} {}", label, link.repeats.size() + 1);
    run.link.asked = asked;
    run.link.transport_found = asked;
    run.epochs[0].wall_s = 100.0;  // warm-up, which must not count
    run.epochs[1].wall_s = seconds;
    link.repeats.push_back(run);
  }
  return link;
}

}  // namespace

std::vector<ComparedLink> example_links() {
  auto shm = make_link("shm", "shm", {1.6, 2.5, 2.0});
  for (auto& run : shm.repeats) {
    run.link.paced.reset();
    run.link.bus_gb_per_s_standalone.reset();
  }
  return {shm, make_link("tcp, paced", "tcp", {4.0, 6.0, 5.0})};
}

CompareResult example_comparison() {
  RunRecord accuracy = example_record();
  accuracy.name = "accuracy";
  return build_comparison(example_links(), accuracy);
}

}  // namespace tandem

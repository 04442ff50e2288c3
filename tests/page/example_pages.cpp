#include "example_pages.h"

#include "page/compare_page.h"
#include "page/run_page.h"
#include "page/scaling_page.h"
#include "page/sweep_page.h"
#include "report/example_comparison.h"
#include "report/example_record.h"

namespace tandem {

SweepResult example_sweep() {
  SweepResult sweep{.keys = {"comm.a", "train.b"},
                    .model = "resnet8",
                    .item = "images",
                    .world_size = 2,
                    .hosts = example_record().hosts,
                    .planned_repeats = 2,
                    .best = 3};
  const auto point = [](std::vector<std::string> values, double rate) {
    return SweepPoint{.values = std::move(values),
                      .repeats = 2,
                      .transport_found = "shm",
                      .items_per_s = Spread{.median = rate, .min = rate - 10.0, .max = rate + 10.0}};
  };
  sweep.points = {point({"1", "x"}, 1000.0),
                  {.values = {"1", "y"}, .failure = "exit status 2"},
                  point({"2", "x"}, 1100.0),
                  point({"2", "y"}, 1234.0)};
  sweep.points[0].to_best =
      PairedDifference{.pairs = 2, .ratio = 0.81, .low = 0.75, .high = 0.875, .p = 0.01};
  return sweep;
}

ScalingResult example_scaling() {
  std::vector<LabelledRun> runs;
  for (const auto& [ranks, seconds] :
       {std::pair(1, 0.16), std::pair(2, 0.177777778), std::pair(4, 0.213333333)}) {
    auto run = example_record();
    run.world_size = ranks;
    run.batch.global = 8 * ranks;
    run.link.emulated.reset();
    for (auto& epoch : run.epochs) {
      epoch.items = 16 * ranks;
      epoch.eval_s = epoch.checkpoint_s = 0.0;
      epoch.wall_s = seconds;
    }
    runs.push_back({.label = "shm", .run = run});
  }
  return build_scaling(runs);
}

std::vector<ExamplePage> example_pages() {
  auto accuracy = example_record();
  const auto links = example_links();
  auto other = example_record();
  other.config = "train:\n  micro_batch: 16\n";
  return {
      {"run", run_page(example_record()), 4},  // parts, buckets, bandwidth, loss
      {"comparison",
       compare_page(example_comparison(), {.runs = runs_for_page(links), .accuracy = accuracy, .diff = {}}),
       4},  // speedup, parts, bandwidth, losses
      {"comparison without records", compare_page(example_comparison()), 3},
      {"sweep", sweep_page(example_sweep()), 1},
      {"scaling", scaling_page(example_scaling()), 1},
      {"difference", diff_page(diff_runs(example_record(), other)), 0}};
}

}  // namespace tandem

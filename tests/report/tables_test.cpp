#include "report/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "example_comparison.h"
#include "example_record.h"

namespace tandem {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kRunPage = R"page(# Run example

**paced to 1 Gbit/s + 50 us**

- started: 2025-03-01T12:34:56Z, `mpirun -np 2 ./trainer --config example.yaml`
- program: tandem 0.1.0 (0123abc, Release)
- model: resnet8, 78,000 parameters (+ 64 padding), 312,256 bytes
- batch: global batch 16 = 8 per rank x 2 ranks x 1 accumulated
- hosts: box (A CPU, 4 cores, 2 ranks)
- link: asked tcp, found tcp, paced to 1 Gbit/s + 50 us
- proof of the link: 1,300,000 bytes acknowledged on TCP sockets, 1,250,000 had to be sent
- reduction: grouping bucketed, schedule overlapped, update streamed
- recompute: 2 blocks, s2 to stem, run forward again within backward
- learning rate: 0.1 = 0.2 * 16 / 32
- time to first step: 0.23 s from the program's start
- note: a note | with a bar

## What limits this run

- **Compute bound (82.5 % of the step).** Forward, backward and optimizer take 33.0 ms of every 40.0 ms step; communication exposes 4.00 ms. A faster link would gain at most 10.0 %.
  - try more or faster devices: this run would use them

## Start-up, in no epoch

| phase                                                 |    ms |
| ----------------------------------------------------- | ----: |
| MPI                                                   | 120.0 |
| plan                                                  |  30.0 |
| recording of steps for replay, within the first steps |  12.5 |

## Step, 3 measured after 1 of warm-up, 2 ranks

| part of the step       | median ms | mean ms | p95 ms | slowest rank's mean ms | share of the step % |
| ---------------------- | --------: | ------: | -----: | ---------------------: | ------------------: |
| step                   |    40.000 |  40.000 | 40.000 |                 40.000 |               100.0 |
| data wait              |     1.000 |   1.000 |  1.000 |                  1.000 |                 2.5 |
| forward                |    10.000 |  10.000 | 10.000 |                 10.000 |                25.0 |
| backward               |    20.000 |  20.000 | 20.000 |                 20.000 |                50.0 |
| recompute, in backward |     5.000 |   5.000 |  5.000 |                  5.000 |                12.5 |
| communication, exposed |     4.000 |   4.000 |  4.000 |                  4.000 |                10.0 |
| optimizer              |     3.000 |   3.000 |  3.000 |                  3.000 |                 7.5 |
| other                  |     2.000 |   2.000 |  2.000 |                  2.000 |                 5.0 |
| communication, busy    |    16.000 |  16.000 | 16.000 |                 16.000 |                40.0 |

- communication share, exposed: 10.0 %
- communication share, busy: 40.0 %
- overlap ratio: 0.75
- sum of the parts: closes within 2 %

## Ranks, mean step

| rank | step ms | data wait ms | forward ms | backward ms | of it recompute ms | exposed ms | optimizer ms | other ms | busy ms | peer wait ms | energy J |
| ---: | ------: | -----------: | ---------: | ----------: | -----------------: | ---------: | -----------: | -------: | ------: | -----------: | -------: |
|    0 |  40.000 |        1.000 |     10.000 |      20.000 |              5.000 |      4.000 |        3.000 |    2.000 |  16.000 |        0.000 |       40 |
|    1 |  40.000 |        1.000 |     10.000 |      20.000 |              5.000 |      4.000 |        3.000 |    2.000 |  16.000 |        1.000 |       32 |

## Buckets, per step

| bucket | parameters                 |   bytes | wire ms | longest rank median ms | exposed ms | bus GB/s |
| -----: | -------------------------- | ------: | ------: | ---------------------: | ---------: | -------: |
|      0 | fc.weight … s2.conv.weight | 200,000 |   2.000 |                  3.000 |      1.500 |    0.100 |
| 1 more | each under 20 us           | 112,256 |   0.010 |                  0.012 |      0.250 |      n/a |

- reduced per step: 312,256 bytes
- wire: 2.010 ms; peer wait: mean over ranks 0.500 ms, largest 1.000 ms
- bus bandwidth: 0.155 GB/s in training, 0.160 GB/s alone

## What communication costs: a control run after training, not training

| per step                                      | median ms | min ms | max ms | share of T_on % |
| --------------------------------------------- | --------: | -----: | -----: | --------------: |
| step with the all-reduce call (T_on)          |    40.500 | 40.000 | 41.000 |           100.0 |
| step without it (T_off)                       |    37.000 | 37.000 | 37.000 |            91.4 |
| cost of communication (T_on - T_off)          |     3.500 |  3.000 |  4.000 |             8.6 |
| of it exposed, on the rank that is waited for |     2.000 |  2.000 |  2.000 |             4.9 |
| of it contention, the rest                    |     1.500 |  1.000 |  2.000 |             3.7 |
| skew cost, in T_on and T_off alike            |     0.000 |  0.000 |  0.000 |             0.0 |

- 2 pairs of segments of 2 steps, with and without the all-reduce call, after 2 of warm-up; every step begins at a barrier

## Epochs

| epoch | wall s | evaluation s | checkpoint s | images/s | training loss | evaluation loss | evaluation accuracy % | sum of the parts   |
| ----: | -----: | -----------: | -----------: | -------: | ------------: | --------------: | --------------------: | ------------------ |
|     0 |  0.200 |        0.050 |        0.030 |    266.7 |        2.0000 |          1.5000 |                 50.00 | closes within 2 %  |
|     1 |  0.100 |        0.000 |        0.000 |    320.0 |        1.2500 |             n/a |                   n/a | unaccounted 20.0 % |

## Throughput, energy and cost

| quantity                                                  | value                                               |
| --------------------------------------------------------- | --------------------------------------------------- |
| images/s, all ranks                                       | 320                                                 |
| images/s per rank                                         | 160                                                 |
| model FLOPs per image                                     | 2e+07                                               |
| MFU                                                       | 3.2 % of 0.1 TFLOP/s per rank (measure.peak_tflops) |
| energy per image                                          | 0.75 J                                              |
| energy per epoch                                          | 6.667e-06 kWh                                       |
| cost of the ranks per epoch, at 3.6 EUR per rank and hour | 0.0002 EUR                                          |
| cost of energy per epoch, at 0.25 EUR per kWh             | 1.667e-06 EUR                                       |
| cost per epoch                                            | 0.0002017 EUR                                       |

## Result

Accuracy: 871 of 1,000 = 87.10 %
)page";

constexpr const char* kComparePage =
    R"page(| link       | link asked | transport found                |     epoch time s | images/s | communication share, exposed % | communication share, busy % | overlap ratio | MB per step | bus bandwidth in training GB/s | bus bandwidth alone GB/s |       contention ms | speedup over tcp, paced |
| ---------- | ---------- | ------------------------------ | ---------------: | -------: | -----------------------------: | --------------------------: | ------------: | ----------: | -----------------------------: | -----------------------: | ------------------: | ----------------------: |
| shm        | shm        | shm                            | 2.00 (1.60–2.50) |    16.00 |                           10.0 |                        40.0 |          0.75 |       0.312 |                          0.155 |                      n/a | 1.500 (1.000–2.000) |        2.50 (1.60–3.75) |
| tcp, paced | tcp        | tcp, paced to 1 Gbit/s + 50 us | 5.00 (4.00–6.00) |     6.40 |                           10.0 |                        40.0 |          0.75 |       0.312 |                          0.155 |                    0.160 | 1.500 (1.000–2.000) |        1.00 (0.67–1.50) |

- resnet8, 78,000 parameters, 2 ranks; global batch 16 = 8 per rank x 2 ranks x 1 accumulated; grouping bucketed, schedule overlapped, update streamed
- box (A CPU, 4 cores, 2 ranks)
- medians of 3 repeats, with (min–max)
- speedup = epoch time of tcp, paced / epoch time of the row; its range is the widest that the repeats of both allow
- exposed: compute waits for communication; busy: the communication stream works, hidden or not
- contention = T_on - T_off - exposed, from the control runs after training, with and without the all-reduce call

| link       | pairs |                T_on ms |               T_off ms |     T_on - T_off ms |    of it exposed ms | of it contention ms | contention shown |
| ---------- | ----: | ---------------------: | ---------------------: | ------------------: | ------------------: | ------------------: | ---------------- |
| shm        |     6 | 40.500 (40.000–41.000) | 37.000 (37.000–37.000) | 3.500 (3.000–4.000) | 2.000 (2.000–2.000) | 1.500 (1.000–2.000) | yes              |
| tcp, paced |     6 | 40.500 (40.000–41.000) | 37.000 (37.000–37.000) | 3.500 (3.000–4.000) | 2.000 (2.000–2.000) | 1.500 (1.000–2.000) | yes              |

What limits each row:

- shm: **Compute bound (82.5 % of the step).** Forward, backward and optimizer take 33.0 ms of every 40.0 ms step; communication exposes 4.00 ms. A faster link would gain at most 10.0 %.
- tcp, paced: **Compute bound (82.5 % of the step).** Forward, backward and optimizer take 33.0 ms of every 40.0 ms step; communication exposes 4.00 ms. A faster link would gain at most 10.0 %.

Accuracy, from a run of its own (accuracy, link tcp, 2 epochs): 871 of 1,000 = 87.10 %
)page";

constexpr const char* kCompareCsv =
    R"page(link,link_asked,transport_found,caveats,repeats,epoch_s_median,epoch_s_min,epoch_s_max,images_per_s_median,images_per_s_min,images_per_s_max,communication_share_exposed_median,communication_share_exposed_min,communication_share_exposed_max,communication_share_busy_median,communication_share_busy_min,communication_share_busy_max,overlap_ratio_median,overlap_ratio_min,overlap_ratio_max,bus_gb_per_s_in_training_median,bus_gb_per_s_in_training_min,bus_gb_per_s_in_training_max,bus_gb_per_s_standalone_median,bus_gb_per_s_standalone_min,bus_gb_per_s_standalone_max,speedup_over_slowest_median,speedup_over_slowest_min,speedup_over_slowest_max,bytes_per_step,paired_speedup_ratio,paired_speedup_low,paired_speedup_high,paired_speedup_p,paired_speedup_pairs,machine,contention_ms_median,contention_ms_min,contention_ms_max
shm,shm,shm,,3,2,1.6,2.5,16,12.8,20,0.1,0.1,0.1,0.4,0.4,0.4,0.75,0.75,0.75,0.155351244,0.155351244,0.155351244,,,,2.5,1.6,3.75,312256,,,,,,,1.5,1,2
"tcp, paced",tcp,tcp,paced to 1 Gbit/s + 50 us,3,5,4,6,6.4,5.33333333,8,0.1,0.1,0.1,0.4,0.4,0.4,0.75,0.75,0.75,0.155351244,0.155351244,0.155351244,0.16,0.16,0.16,1,0.666666667,1.5,312256,,,,,,,1.5,1,2
)page";

TEST(RunTables, GoldenPage) {
  EXPECT_EQ(run_markdown(example_record()), kRunPage);
}

TEST(RunTables, SayNothingOfRecomputationWhereThereIsNone) {
  auto run = example_record();
  run.recomputed.clear();
  for (auto& rank : run.timing)
    for (auto& ms : rank.recompute_ms) ms.reset();
  EXPECT_EQ(run_markdown(run).find("recompute"), std::string::npos);
}

TEST(RunTables, ARunWithoutTimingOrResultsStillHasItsPage) {
  auto run = example_record();
  run.timing.clear();
  run.bucket_times.reset();
  run.control.reset();
  run.startup.clear();
  run.epochs.clear();
  run.results.reset();
  const auto page = run_markdown(run);
  EXPECT_THAT(page, HasSubstr("# Run example"));
  EXPECT_THAT(page, Not(HasSubstr("##")));
  EXPECT_THROW(bucket_table(run), Error);
}

TEST(RunTables, ARankAloneHasNoOverlapRatio) {
  auto run = example_record();
  for (auto& rank : run.timing) {
    rank.comm_busy_ms.assign(4, 0.0);
    rank.exposed_ms.assign(4, 0.0);
    rank.exposed_buckets_ms.assign(4, 0.0);
  }
  const auto page = run_markdown(run);
  EXPECT_THAT(page, HasSubstr("- communication share, exposed: 0.0 %\n"));
  EXPECT_THAT(page, HasSubstr("- overlap ratio: n/a\n"));
}

TEST(RunTables, PartsThatDoNotAddUpAreShown) {
  auto run = example_record();
  for (auto& rank : run.timing)
    for (auto& backward : rank.backward_ms) *backward = 30.0;  // counted twice
  EXPECT_THAT(run_markdown(run), HasSubstr("- sum of the parts: unaccounted -25.0 %\n"));
}

TEST(RunTables, ABandwidthThatCannotBeIsAWarning) {
  auto run = example_record();
  run.link.bus_gb_per_s_standalone = 0.14;
  EXPECT_THAT(run_markdown(run),
              HasSubstr("\n\n**Warning:** example: the bus bandwidth in training, 0.155 GB/s, "
                        "exceeds the 0.140 GB/s of the same link alone"));
  run.link.bus_gb_per_s_standalone = 0.15;  // within what measuring allows
  EXPECT_THAT(run_markdown(run), Not(HasSubstr("Warning")));
}

TEST(RunTables, CaveatsStandAtTheTop) {
  auto run = example_record();
  run.link.paced.reset();
  run.link.emulated = EmulatedRecord{.ranks = 8, .model = {.latency_us = 2.0, .gbit_per_s = 200.0}};
  run.not_training = true;
  EXPECT_THAT(run_markdown(run),
              HasSubstr("# Run example\n\n**emulated link, 8 ranks, 200 Gbit/s + 2 us**\n\n"
                        "**not training**\n\n"));
}

TEST(CompareTables, GoldenPage) {
  EXPECT_EQ(compare_markdown(example_comparison()), kComparePage);
}

TEST(CompareTables, GoldenCsv) {
  EXPECT_EQ(compare_csv_table(example_comparison()).csv(), kCompareCsv);
}

TEST(CompareTables, OneRepeatHasNoRange) {
  auto links = example_links();
  for (auto& link : links) {
    link.repeats.resize(1);
    link.repeats[0].control.reset();  // its pairs have one of their own
  }
  const auto page = compare_markdown(build_comparison(links));
  EXPECT_THAT(page, Not(HasSubstr("–")));
  EXPECT_THAT(page, Not(HasSubstr("repeats,")));
  EXPECT_THAT(page, Not(HasSubstr("Accuracy")));
}

TEST(CompareTables, TheBandwidthOfTheLinkAloneNeedsAMeasurement) {
  auto links = example_links();
  for (auto& run : links[1].repeats) run.link.bus_gb_per_s_standalone.reset();
  EXPECT_THAT(compare_markdown(build_comparison(links)), Not(HasSubstr("alone")));
}

TEST(CompareTables, NoHeaderSaysCommunicationWithoutItsKind) {
  for (const std::string& text : {std::string(kRunPage), std::string(kComparePage)}) {
    for (auto at = text.find("communication"); at != std::string::npos;
         at = text.find("communication", at + 1)) {
      const std::string after = text.substr(at, 40);
      if (after.rfind("communication share", 0) != 0 && after.rfind("communication,", 0) != 0) continue;
      EXPECT_THAT(after, AnyOf(HasSubstr("exposed"), HasSubstr("busy")));
    }
  }
}

TEST(CompareTables, ContentionNeedsAControlRun) {
  auto links = example_links();
  for (auto& run : links[0].repeats) run.control.reset();
  auto result = build_comparison(links);
  ASSERT_EQ(control_table(result).rows(), 2u);
  EXPECT_THAT(control_table(result).row(0),
              ElementsAre("shm", "n/a", "n/a", "n/a", "n/a", "n/a", "n/a", "no control run"));
  EXPECT_THAT(control_table(result).row(1).back(), "yes");
  for (auto& run : links[1].repeats) run.control.reset();
  result = build_comparison(links);
  EXPECT_EQ(control_table(result).rows(), 0u);
  EXPECT_THAT(compare_markdown(result), Not(HasSubstr("contention")));
}

TEST(CompareTables, TokensAreCalledTokens) {
  auto links = example_links();
  for (auto& link : links)
    for (auto& run : link.repeats) run.batch.item = "tokens";
  EXPECT_THAT(compare_markdown(build_comparison(links)), HasSubstr(" tokens/s |"));
  EXPECT_THAT(compare_csv_table(build_comparison(links)).csv(), HasSubstr(",tokens_per_s_median,"));
}

}  // namespace
}  // namespace tandem

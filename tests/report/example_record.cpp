#include "example_record.h"

namespace tandem {
namespace {

StepTiming step_of(double step_ms) {
  return {.step_ms = step_ms,
          .data_wait_ms = 1.0,
          .forward_ms = 10.0,
          .backward_ms = 20.0,
          .recompute_ms = 5.0,
          .comm_busy_ms = 16.0,
          .exposed_ms = 4.0,
          .exposed_buckets_ms = 4.0,
          .optimizer_ms = 3.0,
          .other_ms = step_ms - 38.0};
}

}  // namespace

RunRecord example_record() {
  RunRecord run;
  run.name = "example";
  run.started = "2025-03-01T12:34:56Z";
  run.command_line = "mpirun -np 2 ./trainer --config example.yaml";
  run.program = {.version = "0.1.0", .git = "0123abc", .build = "Release"};
  run.config = "train:\n  micro_batch: 8\n";
  run.hosts = {{.name = "box", .processor = "A CPU", .cores = 4, .ranks = 2}};
  run.topology = {
      {.host = "box",
       .numa_nodes = {{.index = 0, .package = 0, .memory_bytes = 64'000'000'000},
                      {.index = 1, .package = 1, .memory_bytes = 64'000'000'000}},
       .cores = {{.index = 0, .numa = 0, .hardware_threads = 2},
                 {.index = 1, .numa = 0, .hardware_threads = 2},
                 {.index = 2, .numa = 1, .hardware_threads = 2},
                 {.index = 3, .numa = 1, .hardware_threads = 2}},
       .gpus = {{.index = 0,
                 .name = "A GPU",
                 .numa = 0,
                 .pcie = "PCIe 5 x16",
                 .pcie_route = {"pci0000:17", "0000:17:01.0"}},
                {.index = 1, .name = "A GPU", .numa = {}, .pcie = "", .pcie_route = {}}},
       .gpu_paths = {{.from = 0, .to = 1, .path = "NV18"}},
       .ports = {{.name = "mlx5_0", .kind = "infiniband", .numa = 1}},
       .ranks = {{.rank = 0, .cores = {0, 1}, .gpu = 0}, {.rank = 1, .cores = {2, 3}, .gpu = {}}}}};
  run.versions = {{"compiler", "g++ 12.2.0"}, {"mpi", "Open MPI 4.1.4"}};
  run.environment = {{"NCCL_NVLS_ENABLE", "0"}};
  run.world_size = 2;
  run.model = {
      .name = "resnet8", .parameters = 78'000, .padding = 64, .bytes = 312'256, .flops_per_item = 2e7};
  run.batch = {.micro = 8, .accumulation = 1, .global = 16, .item = "images", .steps_per_epoch = 2};
  run.link = {
      .asked = "tcp",
      .description = "mpi",
      .transport_found = "tcp",
      .proof = LinkProofRecord{.tcp_bytes = 1.3e6, .expected_bytes = 1.25e6},
      .nccl = NcclRecord{.peers = "nvlink", .channels = 24, .algorithm = "RING", .protocol = "SIMPLE"},
      .paced = LinkModelRecord{.latency_us = 50.0, .gbit_per_s = 1.0},
      .emulated = {},
      .bus_gb_per_s_standalone = 0.16};
  run.reduction = {.grouping = "bucketed", .schedule = "overlapped", .update_order = "streamed"};
  run.recomputed = {"s2", "stem"};
  run.buckets = {{.index = 0,
                  .bytes = 200'000,
                  .first_parameter = "fc.weight",
                  .last_parameter = "s2.conv.weight",
                  .parameters = 5},
                 {.index = 1,
                  .bytes = 112'256,
                  .first_parameter = "stem.weight",
                  .last_parameter = "stem.weight",
                  .parameters = 1}};
  run.learning_rate = {.effective = 0.1, .formula = "0.2 * 16 / 32"};
  run.startup = {{.phase = "MPI", .ms = 120.0}, {.phase = "plan", .ms = 30.0}};
  run.graph_capture_ms = 12.5;
  run.warmup_steps = 1;
  run.timing.resize(2);
  for (int rank = 0; rank < 2; ++rank) {
    run.timing[static_cast<std::size_t>(rank)].rank = rank;
    for (const double step_ms : {80.0, 40.0, 40.0, 40.0})
      append_step(run.timing[static_cast<std::size_t>(rank)], step_of(step_ms));
  }
  run.bucket_times = BucketTimes{
      .steps = 3,
      .buckets = {{.rank_median_ms = {2.0, 3.0}, .rank_exposed_ms = {0.5, 1.5}, .wire_ms = 2.0},
                  {.rank_median_ms = {0.012, 0.01}, .rank_exposed_ms = {0.25, 0.0}, .wire_ms = 0.01}},
      .wire_ms = 2.01,
      .peer_wait_ms = {0.0, 1.0}};
  // Rank 1 has more to do: by 2 ms, and by another 1 while communication is going on.
  run.control = ControlRecord{.warmup_steps = 2,
                              .segments = {{.all_reduce = true,
                                            .step_ms = {{40.0, 40.0}, {40.0, 40.0}},
                                            .exposed_ms = {{5.0, 5.0}, {2.0, 2.0}}},
                                           {.all_reduce = false,
                                            .step_ms = {{35.0, 35.0}, {37.0, 37.0}},
                                            .exposed_ms = {{0.0, 0.0}, {0.0, 0.0}}},
                                           {.all_reduce = true,
                                            .step_ms = {{41.0, 41.0}, {41.0, 41.0}},
                                            .exposed_ms = {{6.0, 6.0}, {2.0, 2.0}}},
                                           {.all_reduce = false,
                                            .step_ms = {{35.0, 35.0}, {37.0, 37.0}},
                                            .exposed_ms = {{0.0, 0.0}, {0.0, 0.0}}}}};
  run.peak = PeakRecord{.flops_per_s = 1e11, .source = "measure.peak_tflops"};
  run.energy = EnergyRecord{.source = "a meter", .interval_ms = 50.0, .rank_j = {40.0, 32.0}};
  run.prices = PricesRecord{.currency = "EUR", .per_rank_hour = 3.6, .per_kwh = 0.25};
  for (int rank = 0; rank < 2; ++rank) {
    const double late = rank * 1.0;  // rank 1 computes longer
    run.timelines.resize(1);
    run.timelines[0].step = 2;
    run.timelines[0].ranks.push_back({.rank = rank,
                                      .begin_ms = rank * 0.5,
                                      .clock_error_ms = 0.05,
                                      .load_begin_ms = -3.0,
                                      .load_end_ms = 0.8,
                                      .data_ready_ms = 1.0,
                                      .forward_end_ms = {11.0},
                                      .backward_end_ms = {31.0 + late},
                                      .recompute_begin_ms = {11.0, 20.0},
                                      .recompute_end_ms = {14.0, 22.0},
                                      .ready_ms = {18.0 + late, 31.0 + late},
                                      .reduce_begin_ms = {18.5 + late, 31.5 + late},
                                      .reduce_end_ms = {30.0, 36.0},
                                      .wait_begin_ms = {31.0 + late, 33.0 + late},
                                      .wait_end_ms = {31.0 + late, 36.0},
                                      .end_ms = 38.0,
                                      .next_begin_ms = 40.0});
  }
  run.losses = {{.step = 0, .loss = 2.5}, {.step = 3, .loss = 1.25}};
  run.epochs = {{.epoch = 0,
                 .first_step = 0,
                 .steps = 2,
                 .wall_s = 0.2,
                 .eval_s = 0.05,
                 .checkpoint_s = 0.03,
                 .items = 32,
                 .train_loss = 2.0,
                 .eval_loss = 1.5,
                 .eval_accuracy = 0.5,
                 .energy_j = 48.0,
                 .training_energy_j = 32.0},
                {.epoch = 1,
                 .first_step = 2,
                 .steps = 2,
                 .wall_s = 0.1,
                 .eval_s = 0.0,
                 .checkpoint_s = 0.0,
                 .items = 32,
                 .train_loss = 1.25,
                 .eval_loss = {},
                 .eval_accuracy = {},
                 .energy_j = 24.0,
                 .training_energy_j = 24.0}};
  run.results = ResultsRecord{.correct = 871, .total = 1000, .eval_loss = 0.75};
  run.parameter_hash = "00112233aabbccdd";
  run.notes = {"a note | with a bar"};
  return run;
}

}  // namespace tandem

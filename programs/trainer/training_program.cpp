#include "trainer/training_program.h"

#include <chrono>
#include <cstdio>
#include <optional>

#include "core/error.h"
#include "core/log.h"
#include "report/metrics_file.h"
#include "report/run_summary.h"
#include "report/tables.h"
#include "train/startup_check.h"
#include "trainer/data_setup.h"
#include "trainer/device_setup.h"
#include "trainer/host_topology.h"
#include "trainer/job_setup.h"
#include "trainer/link_proof.h"
#include "trainer/model_setup.h"
#include "trainer/peak_rate.h"
#include "trainer/progress_reporter.h"
#include "trainer/run_facts.h"

namespace tandem {
namespace {

std::unique_ptr<Comm> make_comm(const CommConfig& config, const MpiSession* session,
                                const TerminationSignal& termination) {
  const int ranks = session == nullptr ? 1 : session->identity().world_size;
  if (config.backend == CommConfig::Backend::Single && ranks > 1) {
    throw InputError({.what = "several ranks must communicate",
                      .where = "comm.backend",
                      .expected = "auto, mpi, ring or nccl",
                      .found = fmt::format("single, with {} ranks", ranks),
                      .advice = "choose another backend, or start one rank"});
  }
  auto options = comm_options(config);
  options.watchdog.termination = &termination;
  return session != nullptr ? make_mpi_comm(*session, options) : make_single_comm(options.watchdog);
}

RunRecord begin_record(const TrainingRequest& request, const BatchSizes& sizes, const ComputeDevice& compute,
                       RankGroup& group, const Communicator& communicator) {
  const auto& config = request.config;
  RunRecord record{.name = config.report.name,
                   .started = utc_timestamp(std::chrono::system_clock::now()),
                   .command_line = request.command_line,
                   .program = program_record(),
                   .config = to_yaml(config),
                   .hosts = host_records(*compute.device, group),
                   .topology = topology_records(*compute.device, group),
                   .versions = version_records(compute.device->kind(), request.job.launched),
                   .environment = request.nccl ? request.nccl->variables : Environment(),
                   .world_size = group.world_size()};
  record.model.name = config_value(config, "model.name");
  record.batch = {.micro = static_cast<int>(sizes.micro_batch),
                  .accumulation = static_cast<int>(sizes.accumulation),
                  .global = static_cast<int>(sizes.global_batch),
                  .item = config.data.is_tokens() ? "tokens" : "images"};
  record.link.asked = config_value(config, "comm.link");
  record.link.description = communicator.description();
  record.link.emulated = compute.emulated;
  if (const auto pace = comm_options(config.comm).pace) {
    record.link.paced = LinkModelRecord{.latency_us = pace->latency_us, .gbit_per_s = pace->bus_gbit_per_s};
  }
  record.peak = peak_rate(config, compute.device->name(), ranks_on_device(config, request.job));
  if (const auto& measure = config.measure; measure.has_prices()) {
    const auto price = [](double value) { return value > 0 ? std::optional(value) : std::nullopt; };
    record.prices = PricesRecord{.currency = measure.currency,
                                 .per_rank_hour = price(measure.price_per_rank_hour),
                                 .per_kwh = price(measure.price_per_kwh)};
  }
  const auto rate = effective_learning_rate(config.optim, sizes.global_batch);
  record.learning_rate = {.effective = rate.value, .formula = rate.formula};
  return record;
}

void fill_reduction(const RunConfig& config, const JobOptions& options, RunRecord& record) {
  record.reduction = {
      .grouping = config_value(config, "comm.grouping"),
      .schedule = config_value(config, "comm.schedule"),
      .update_order = options.trainer.update_order == UpdateOrder::Gated ? "gated" : "streamed"};
  record.warmup_steps = options.warmup_steps;
}

void announce(const RunConfig& config, const Device& device, const RunRecord& record, Logger& logger) {
  const int ranks = record.world_size;
  logger.info("{} rank{} on {}, {}; learning rate: {}", ranks, ranks == 1 ? "" : "s",
              record.hosts.front().processor, record.link.description, record.learning_rate.formula);
  if (device.kind() == DeviceKind::Cuda && config.gpu.share && ranks > 1) {
    logger.info("gpu.share: what ranks exchange is staged through host memory, and gpu.graph is {}",
                config.gpu.graph);
  }
}

// The page comes out whatever becomes of the files: hours of work may be in it.
void leave_results(const RunRecord& record, const RunFolder& folder, bool traced, Logger& logger) {
  const auto print = [&] {
    std::puts(run_markdown(record).c_str());
    std::fflush(stdout);
  };
  try {
    folder.write(record);
    if (traced) folder.write_trace(record);
  } catch (...) {
    print();
    throw;
  }
  print();
  logger.info("record, page and configuration are in {}", folder.path().string());
}

// What training has earned is on disk before the control run begins.
void run_control(const ControlOptions& control, const TrainingRequest& request, TrainingJob& job,
                 RunRecord& record, Logger& logger) {
  if (ranks_in_all_reduce(record) < 2) {
    logger.info("measure.contention: a rank alone communicates nothing, so there is no control run");
    return;
  }
  if (request.folder != nullptr) request.folder->write(record);
  logger.info("control run, not training: {} pairs of {} steps with and without the all-reduce call",
              control.pairs, control.steps);
  job.measure_control(record, control);
}

// Makes the same plan again, but with recomputation; null where the run has it already, or cannot have it.
std::function<MemoryNeed()> need_if_recomputed(ModelSpec spec, const JobOptions& options, OpBackend& ops,
                                               const MemoryNeed& need) {
  if (spec.recompute_blocks || !can_recompute(spec)) return nullptr;
  spec.recompute_blocks = true;
  return [spec, need, &ops, compute = options.compute] {
    Planner planner(ops, compute);
    make_model(spec, need.micro_batch).plan(planner);
    return with_plan(need, planner.finish());
  };
}

// Who sees steps while the run goes on: nobody on ranks other than 0.
class Watchers {
 public:
  Watchers(const TrainingRequest& request, const RunRecord& record, const JobOptions& options,
           const Sampler& sampler, std::int64_t items_per_step)
      : items_per_step_(items_per_step) {
    if (request.folder == nullptr) return;
    request.folder->remove_leftovers();
    if (request.config.report.metrics != ReportConfig::Metrics::Off)
      metrics_ = std::make_unique<MetricsFile>(request.folder->metrics_path());
    const auto per_epoch = sampler.steps_per_epoch();
    if (options.total_steps > 0)
      progress_.emplace(ProgressScale{.item = record.batch.item == "images" ? "img" : "tok",
                                      .items_per_step = items_per_step,
                                      .total_steps = options.total_steps,
                                      .epochs = (options.total_steps + per_epoch - 1) / per_epoch,
                                      .warmup_steps = record.warmup_steps});
  }

  void show(const JobProgress& now) {
    if (progress_) progress_->show(now);
    if (!metrics_) return;
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    metrics_->add({.step = now.total_step - 1,
                   .epoch = now.epoch,
                   .time_s = std::chrono::duration<double>(since_1970).count(),
                   .loss = now.loss,
                   .learning_rate = now.learning_rate,
                   .items = items_per_step_,
                   .timing = now.timing});
  }

  void show(const EpochRecord& finished) {
    if (progress_) progress_->show(finished);
  }

  void finish(Logger& logger) {
    if (progress_) progress_->finish();
    const auto trouble = metrics_ ? metrics_->close() : std::string();
    if (!trouble.empty()) logger.warn("{}", trouble);
  }

 private:
  std::int64_t items_per_step_;
  std::optional<ProgressReporter> progress_;
  std::unique_ptr<MetricsFile> metrics_;
};

}  // namespace

void run_training(const TrainingRequest& request, const MpiSession* session,
                  const TerminationSignal& termination) {
  const auto& config = request.config;
  auto& startup = *request.startup;
  const LinkEvidence evidence{.before = snapshot_transport(),
                              .nccl = request.nccl,
                              .emulated = config.comm.backend == CommConfig::Backend::Emulated};
  const auto comm = make_comm(config.comm, session, termination);
  auto& group = comm->ranks();
  const auto logger = make_logger(group.rank().value, group.world_size());
  if (request.nccl) expect_agreement(agreement_facts(*request.nccl), group);
  startup.finish("rank group");
  const auto compute = make_compute_device(config, request.job, *comm, startup);
  const auto memory = available_memory(*compute.device, group);
  auto& communicator = compute.communicator ? *compute.communicator : comm->communicator();
  const auto sizes = resolve_batch(config.train, group.world_size());
  auto record = begin_record(request, sizes, compute, group, communicator);
  announce(config, *compute.device, record, *logger);

  const auto datasets = open_datasets(config);
  const auto batches = make_batches(config, datasets, sizes, group.rank().value, group.world_size());
  startup.finish("data");

  const auto spec = model_spec(config, datasets);
  auto model = make_model(spec, sizes.micro_batch);
  const auto options = job_options(config, sizes, batches.train_sampler.steps_per_epoch());
  record.batch.steps_per_epoch = batches.train_sampler.steps_per_epoch();
  fill_reduction(config, options, record);
  const JobParts parts{
      .device = *compute.device,
      .ops = *compute.ops,
      .communicator = communicator,
      .group = group,
      .model = model,
      .sampler = batches.train_sampler,
      .train = *batches.train,
      .evaluation_sampler = batches.evaluation_sampler ? &*batches.evaluation_sampler : nullptr,
      .evaluation = batches.evaluation.get(),
      .gradient_memory = compute.gradient_memory.get(),
      .power = compute.power.get(),
      .startup = &startup,
      .before_memory = [&](const MemoryNeed& need) {
        logger->info("memory: {}", to_text(need, memory));
        expect_enough_memory(need, memory, compute.device->name(),
                             need_if_recomputed(spec, options, *compute.ops, need));
      }};
  TrainingJob job(parts, options, agreement_facts(record) + data_facts(datasets));
  job.describe(record);
  // The measurement mostly moves enough bytes to tell: a run on the wrong link ends now, not after its last
  // step.
  const auto early = prove_link(config, *comm, evidence, record);
  if (early.certain) expect_link(config, early);
  startup.finish("proof of the link");
  record.startup = startup.phases();
  logger->info("{}: {} parameters in {} bucket{}", record.model.name, record.model.parameters,
               record.buckets.size(), record.buckets.size() == 1 ? "" : "s");

  const auto items_per_step = sizes.global_batch * model.input().targets / model.input().samples();
  Watchers watchers(request, record, options, batches.train_sampler, items_per_step);
  job.run(
      record, [&](const JobProgress& now) { watchers.show(now); },
      [&](const EpochRecord& finished) { watchers.show(finished); });
  watchers.finish(*logger);
  const auto verdict = prove_link(config, *comm, evidence, record);
  if (const auto control = control_options(config.measure))
    run_control(*control, request, job, record, *logger);
  const bool traced = config.report.metrics == ReportConfig::Metrics::Trace;
  if (group.is_root()) leave_results(record, *request.folder, traced, *logger);
  expect_link(config, verdict);
}

}  // namespace tandem

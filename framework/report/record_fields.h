// The fields of every struct in a run record or comparison, in the order of the file. Internal to this
// library.
#pragma once

#include "report/json_fields.h"
#include "report/paired_difference.h"
#include "report/run_record.h"

namespace tandem {

template <class Visitor, SameAs<Spread> T>
void visit_fields(Visitor&& field, T& x) {
  field("median", x.median);
  field("min", x.min);
  field("max", x.max);
}

template <class Visitor, SameAs<PairedDifference> T>
void visit_fields(Visitor&& field, T& x) {
  field("pairs", x.pairs);
  field("ratio", x.ratio);
  field("low", x.low);
  field("high", x.high);
  field("p", x.p);
}

template <class Visitor, SameAs<ProgramRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("version", x.version);
  field("git", x.git);
  field("build", x.build);
}

template <class Visitor, SameAs<HostRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("name", x.name);
  field("processor", x.processor);
  field("cores", x.cores);
  field("ranks", x.ranks);
}

template <class Visitor, SameAs<ModelRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("name", x.name);
  field("parameters", x.parameters);
  field("padding", x.padding);
  field("bytes", x.bytes);
  field("flops_per_item", x.flops_per_item);
}

template <class Visitor, SameAs<BatchRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("micro", x.micro);
  field("accumulation", x.accumulation);
  field("global", x.global);
  field("item", x.item);
  field("steps_per_epoch", x.steps_per_epoch);
}

template <class Visitor, SameAs<LinkModelRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("latency_us", x.latency_us);
  field("gbit_per_s", x.gbit_per_s);
}

template <class Visitor, SameAs<EmulatedRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("ranks", x.ranks);
  field("model", x.model);
}

template <class Visitor, SameAs<LinkProofRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("tcp_bytes", x.tcp_bytes);
  field("expected_bytes", x.expected_bytes);
}

template <class Visitor, SameAs<NcclRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("peers", x.peers);
  field("channels", x.channels);
  field("algorithm", x.algorithm);
  field("protocol", x.protocol);
}

template <class Visitor, SameAs<LinkRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("asked", x.asked);
  field("description", x.description);
  field("transport_found", x.transport_found);
  field("proof", x.proof);
  field("nccl", x.nccl);
  field("paced", x.paced);
  field("emulated", x.emulated);
  field("bus_gb_per_s_standalone", x.bus_gb_per_s_standalone);
}

template <class Visitor, SameAs<ReductionRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("grouping", x.grouping);
  field("schedule", x.schedule);
  field("update_order", x.update_order);
}

template <class Visitor, SameAs<BucketRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("index", x.index);
  field("bytes", x.bytes);
  field("first_parameter", x.first_parameter);
  field("last_parameter", x.last_parameter);
  field("parameters", x.parameters);
}

template <class Visitor, SameAs<LearningRateRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("effective", x.effective);
  field("formula", x.formula);
}

template <class Visitor, SameAs<StartupPhaseRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("phase", x.phase);
  field("ms", x.ms);
}

template <class Visitor, SameAs<RankTimingRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("rank", x.rank);
  field("step_ms", x.step_ms);
  field("data_wait_ms", x.data_wait_ms);
  field("forward_ms", x.forward_ms);
  field("backward_ms", x.backward_ms);
  field("recompute_ms", x.recompute_ms);
  field("comm_busy_ms", x.comm_busy_ms);
  field("exposed_ms", x.exposed_ms);
  field("exposed_buckets_ms", x.exposed_buckets_ms);
  field("optimizer_ms", x.optimizer_ms);
  field("other_ms", x.other_ms);
}

template <class Visitor, SameAs<BucketTime> T>
void visit_fields(Visitor&& field, T& x) {
  field("rank_median_ms", x.rank_median_ms);
  field("rank_exposed_ms", x.rank_exposed_ms);
  field("wire_ms", x.wire_ms);
}

template <class Visitor, SameAs<BucketTimes> T>
void visit_fields(Visitor&& field, T& x) {
  field("steps", x.steps);
  field("buckets", x.buckets);
  field("wire_ms", x.wire_ms);
  field("peer_wait_ms", x.peer_wait_ms);
}

template <class Visitor, SameAs<LossRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("step", x.step);
  field("loss", x.loss);
}

template <class Visitor, SameAs<EpochRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("epoch", x.epoch);
  field("first_step", x.first_step);
  field("steps", x.steps);
  field("wall_s", x.wall_s);
  field("eval_s", x.eval_s);
  field("checkpoint_s", x.checkpoint_s);
  field("items", x.items);
  field("train_loss", x.train_loss);
  field("eval_loss", x.eval_loss);
  field("eval_accuracy", x.eval_accuracy);
  field("energy_j", x.energy_j);
  field("training_energy_j", x.training_energy_j);
}

template <class Visitor, SameAs<PeakRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("flops_per_s", x.flops_per_s);
  field("source", x.source);
}

template <class Visitor, SameAs<EnergyRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("source", x.source);
  field("interval_ms", x.interval_ms);
  field("rank_j", x.rank_j);
}

template <class Visitor, SameAs<PricesRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("currency", x.currency);
  field("per_rank_hour", x.per_rank_hour);
  field("per_kwh", x.per_kwh);
}

template <class Visitor, SameAs<ControlSegmentRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("all_reduce", x.all_reduce);
  field("step_ms", x.step_ms);
  field("exposed_ms", x.exposed_ms);
}

template <class Visitor, SameAs<ControlRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("warmup_steps", x.warmup_steps);
  field("segments", x.segments);
}

template <class Visitor, SameAs<ResultsRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("correct", x.correct);
  field("total", x.total);
  field("eval_loss", x.eval_loss);
}

}  // namespace tandem

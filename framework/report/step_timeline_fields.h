// The fields of a step's timeline in a run record. Internal to this library.
#pragma once

#include "report/json_fields.h"
#include "report/step_timeline_record.h"

namespace tandem {

template <class Visitor, SameAs<RankStepRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("rank", x.rank);
  field("begin_ms", x.begin_ms);
  field("clock_error_ms", x.clock_error_ms);
  field("load_begin_ms", x.load_begin_ms);
  field("load_end_ms", x.load_end_ms);
  field("data_ready_ms", x.data_ready_ms);
  field("forward_end_ms", x.forward_end_ms);
  field("backward_end_ms", x.backward_end_ms);
  field("recompute_begin_ms", x.recompute_begin_ms);
  field("recompute_end_ms", x.recompute_end_ms);
  field("ready_ms", x.ready_ms);
  field("reduce_begin_ms", x.reduce_begin_ms);
  field("reduce_end_ms", x.reduce_end_ms);
  field("wait_begin_ms", x.wait_begin_ms);
  field("wait_end_ms", x.wait_end_ms);
  field("end_ms", x.end_ms);
  field("next_begin_ms", x.next_begin_ms);
}

template <class Visitor, SameAs<StepTimelineRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("step", x.step);
  field("ranks", x.ranks);
}

}  // namespace tandem

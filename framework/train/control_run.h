// The control run: what training would take if the all-reduce took nothing.
#pragma once

#include <cstddef>

#include "comm/rank_group.h"
#include "data/batch_source.h"
#include "report/measurement_records.h"
#include "train/trainer.h"

namespace tandem {

struct ControlOptions {
  int pairs = 0;  // of segments, with and without the all-reduce call; 0: no control run
  int steps = 0;  // of each segment
};

// What is trained; all of it outlives the run.
struct ControlSubject {
  TrainerParts parts;
  const Sampler& sampler;
  const BatchSource& batches;
  RankGroup& group;
  Schedule schedule;
  TrainerOptions options;
  std::size_t prefetch = 2;
};

// Trains segments of steps in turns, with the all-reduce call and without (everything around the call stays:
// events, waits, stamps, updates), so that a machine that warms up favours neither. Every step begins at a
// barrier of all ranks, since ranks that do not communicate would drift apart, and ends before the next.
//
// Changes the parameters, and without the call differently on each rank: take a TrainingSnapshot before.
// Works with trainers of its own, so that the step state of the run's trainer stays. REQUIRES
// options.measure. All ranks call together, when nothing is in flight.
ControlRecord measure_control(const ControlSubject& subject, const ControlOptions& control);

}  // namespace tandem

// A small, whole run record with round numbers: two ranks, two buckets, two epochs of two steps, one step of
// warm-up.
#pragma once

#include "report/run_record.h"

namespace tandem {

// Steps take 40 ms, the first 80; exposed is 4 ms of 16 ms busy. Epoch 0 takes 0.2 s, epoch 1 0.1 s.
RunRecord example_record();

}  // namespace tandem

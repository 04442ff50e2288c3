// The checks of specs that every backend makes before it builds an op.
#pragma once

#include "ops/attention.h"
#include "ops/batch_norm.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/elementwise.h"
#include "ops/embedding.h"
#include "ops/layer_norm.h"
#include "ops/linear.h"
#include "ops/optimizer_update.h"
#include "ops/pool.h"
#include "ops/softmax_cross_entropy.h"

namespace tandem {

// Each throws Error, with the whole spec in the message, if no device could run it: an extent below 1, a
// window that does not fit its padded input, statistics of a single row.
void expect_valid(const Conv2dSpec& spec);
void expect_valid(const BatchNormSpec& spec);
void expect_valid_dual(const BatchNormSpec& spec);  // of a DualBatchNorm
void expect_valid(const PoolSpec& spec);
void expect_valid(const LinearSpec& spec);
void expect_valid(const LayerNormSpec& spec);
void expect_valid(const AttentionSpec& spec);
void expect_valid(const EmbeddingSpec& spec);
void expect_valid(const SoftmaxCrossEntropySpec& spec);
void expect_valid(const DropoutSpec& spec);
void expect_valid(const ImageNormalizeSpec& spec);

// Likewise for updates: a rate outside its range, segments that overlap or do not ascend.
void expect_valid(const SgdSpec& spec);
void expect_valid(const AdamWSpec& spec);
void expect_valid(const GradientNormSpec& spec);

}  // namespace tandem

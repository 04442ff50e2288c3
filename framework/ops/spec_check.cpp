#include "ops/spec_check.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace tandem {
namespace {

std::string describe(const Conv2dSpec& spec) {
  return fmt::format("conv2d N={} H={} W={} C={} K={} R={} S={} stride={} padding={}", spec.N, spec.H, spec.W,
                     spec.C, spec.K, spec.R, spec.S, spec.stride, spec.padding);
}

std::string describe(const BatchNormSpec& spec) {
  return fmt::format("batch_norm rows={} C={} epsilon={} momentum={}", spec.rows, spec.C, spec.epsilon,
                     spec.momentum);
}

std::string describe(const PoolSpec& spec) {
  return fmt::format("pool N={} H={} W={} C={} window={}x{} stride={} padding={}", spec.N, spec.H, spec.W,
                     spec.C, spec.window_h, spec.window_w, spec.stride, spec.padding);
}

std::string describe(const LinearSpec& spec) {
  return fmt::format("linear rows={} in={} out={}", spec.rows, spec.in, spec.out);
}

std::string describe(const LayerNormSpec& spec) {
  return fmt::format("layer_norm rows={} C={} epsilon={}", spec.rows, spec.C, spec.epsilon);
}

std::string describe(const AttentionSpec& spec) {
  return fmt::format("attention B={} T={} heads={} D={}", spec.B, spec.T, spec.heads, spec.D);
}

std::string describe(const EmbeddingSpec& spec) {
  return fmt::format("embedding B={} T={} V={} C={}", spec.B, spec.T, spec.V, spec.C);
}

std::string describe(const SoftmaxCrossEntropySpec& spec) {
  return fmt::format("softmax_cross_entropy rows={} classes={} stride={} label_smoothing={}", spec.rows,
                     spec.classes, spec.stride, spec.label_smoothing);
}

std::string describe(const DropoutSpec& spec) {
  return fmt::format("dropout samples={} elements_per_sample={} probability={}", spec.samples,
                     spec.elements_per_sample, spec.probability);
}

std::string describe(const ImageNormalizeSpec& spec) {
  return fmt::format("image_normalize N={} H={} W={} C={} stored_channels={}{} padding={}", spec.N, spec.H,
                     spec.W, spec.C, spec.stored_channels, spec.in_blocks() ? " in blocks" : "",
                     spec.padding);
}

void expect_ascending(std::string_view op, const std::vector<UpdateSegment>& segments) {
  std::int64_t behind = 0;
  for (const auto& segment : segments) {
    TANDEM_EXPECT(segment.begin >= behind && segment.end >= segment.begin,
                  "{}: expected ascending segments without overlap, found [{}, {}) after {}", op,
                  segment.begin, segment.end, behind);
    behind = segment.end;
  }
}

}  // namespace

void expect_valid(const Conv2dSpec& spec) {
  TANDEM_EXPECT(std::min({spec.N, spec.H, spec.W, spec.C, spec.K, spec.R, spec.S, spec.stride}) >= 1,
                "{}: every extent and the stride must be at least 1", describe(spec));
  TANDEM_EXPECT(spec.padding >= 0, "{}: the padding must not be negative", describe(spec));
  TANDEM_EXPECT(spec.H + 2 * spec.padding >= spec.R && spec.W + 2 * spec.padding >= spec.S,
                "{}: the filter is larger than the padded image", describe(spec));
}

void expect_valid(const BatchNormSpec& spec) {
  TANDEM_EXPECT(std::min(spec.rows, spec.C) >= 1, "{}: every extent must be at least 1", describe(spec));
  TANDEM_EXPECT(spec.statistics != NormStatistics::Batch || spec.rows >= 2,
                "{}: batch statistics need at least 2 rows, the variance of one is undefined",
                describe(spec));
  TANDEM_EXPECT(spec.epsilon >= 0.0f, "{}: epsilon must not be negative", describe(spec));
  TANDEM_EXPECT(spec.momentum >= 0.0f && spec.momentum <= 1.0f, "{}: momentum must be from 0 to 1",
                describe(spec));
}

void expect_valid_dual(const BatchNormSpec& spec) {
  expect_valid(spec);
  TANDEM_EXPECT(spec.tail == NormTail::AddRelu, "dual {}: its tail is addition and ReLU", describe(spec));
}

void expect_valid(const PoolSpec& spec) {
  TANDEM_EXPECT(std::min({spec.N, spec.H, spec.W, spec.C, spec.window_h, spec.window_w, spec.stride}) >= 1,
                "{}: every extent and the stride must be at least 1", describe(spec));
  TANDEM_EXPECT(spec.padding >= 0 && spec.padding < std::min(spec.window_h, spec.window_w),
                "{}: expected a padding from 0 to below the window, so that no window is padding only",
                describe(spec));
  TANDEM_EXPECT(spec.H + 2 * spec.padding >= spec.window_h && spec.W + 2 * spec.padding >= spec.window_w,
                "{}: the window is larger than the padded image", describe(spec));
}

void expect_valid(const LinearSpec& spec) {
  TANDEM_EXPECT(std::min({spec.rows, spec.in, spec.out}) >= 1, "{}: every extent must be at least 1",
                describe(spec));
}

void expect_valid(const LayerNormSpec& spec) {
  TANDEM_EXPECT(std::min(spec.rows, spec.C) >= 1, "{}: every extent must be at least 1", describe(spec));
  TANDEM_EXPECT(spec.epsilon >= 0.0f, "{}: epsilon must not be negative", describe(spec));
}

void expect_valid(const AttentionSpec& spec) {
  TANDEM_EXPECT(std::min({spec.B, spec.T, spec.heads, spec.D}) >= 1, "{}: every extent must be at least 1",
                describe(spec));
}

void expect_valid(const EmbeddingSpec& spec) {
  TANDEM_EXPECT(std::min({spec.B, spec.T, spec.V, spec.C}) >= 1, "{}: every extent must be at least 1",
                describe(spec));
}

void expect_valid(const SoftmaxCrossEntropySpec& spec) {
  TANDEM_EXPECT(std::min(spec.rows, spec.classes) >= 1, "{}: every extent must be at least 1",
                describe(spec));
  TANDEM_EXPECT(spec.stride >= spec.classes, "{}: the stride must hold all classes", describe(spec));
  TANDEM_EXPECT(spec.label_smoothing >= 0.0f && spec.label_smoothing < 1.0f,
                "{}: label smoothing must be from 0 to below 1", describe(spec));
}

void expect_valid(const DropoutSpec& spec) {
  TANDEM_EXPECT(std::min(spec.samples, spec.elements_per_sample) >= 1, "{}: every extent must be at least 1",
                describe(spec));
  TANDEM_EXPECT(spec.probability >= 0.0f && spec.probability < 1.0f,
                "{}: the probability must be from 0 to below 1", describe(spec));
}

void expect_valid(const ImageNormalizeSpec& spec) {
  TANDEM_EXPECT(std::min({spec.N, spec.H, spec.W, spec.C}) >= 1, "{}: every extent must be at least 1",
                describe(spec));
  const auto real = spec.in_blocks() ? BlockedFilter::kBlock * BlockedFilter::kBlock * spec.C : spec.C;
  TANDEM_EXPECT(spec.C <= static_cast<std::int64_t>(spec.mean.size()) && spec.stored_channels >= real,
                "{}: expected at most {} channels, all of them stored", describe(spec), spec.mean.size());
  TANDEM_EXPECT(spec.padding >= 0 && (spec.in_blocks() || spec.padding == 0),
                "{}: expected a padding of 0, or more in blocks", describe(spec));
  for (std::int64_t c = 0; c < spec.C; ++c) {
    TANDEM_EXPECT(spec.deviation[c] > 0.0f, "{}: the deviation of channel {} must be above 0, found {}",
                  describe(spec), c, spec.deviation[c]);
  }
}

void expect_valid(const SgdSpec& spec) {
  TANDEM_EXPECT(spec.momentum >= 0.0f && spec.momentum < 1.0f,
                "sgd: momentum must be from 0 to below 1, found {}", spec.momentum);
  TANDEM_EXPECT(!spec.nesterov || spec.momentum > 0.0f, "sgd: Nesterov needs a momentum above 0");
  expect_ascending("sgd", spec.segments);
}

void expect_valid(const AdamWSpec& spec) {
  TANDEM_EXPECT(spec.beta1 >= 0.0f && spec.beta1 < 1.0f && spec.beta2 >= 0.0f && spec.beta2 < 1.0f,
                "adamw: both betas must be from 0 to below 1, found {} and {}", spec.beta1, spec.beta2);
  TANDEM_EXPECT(spec.epsilon > 0.0f, "adamw: epsilon must be above 0, found {}", spec.epsilon);
  expect_ascending("adamw", spec.segments);
}

void expect_valid(const GradientNormSpec& spec) {
  TANDEM_EXPECT(spec.elements >= 1 && spec.clip_norm >= 0.0f,
                "gradient_norm: expected at least 1 element and no negative clip norm, found {} and {}",
                spec.elements, spec.clip_norm);
}

}  // namespace tandem

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"
#include "support/host_tensor.h"

namespace tandem {
namespace {

TEST(Elementwise, AddMayWriteOnEitherAddend) {
  CpuStream stream;
  const auto op = make_cpu_elementwise();
  const auto a = HostTensor::random({3, 7}, 1);
  const auto b = HostTensor::random({3, 7}, 2);
  const auto y = HostTensor::unwritten({3, 7});
  const auto on_first = a.copy();
  const auto on_second = b.copy();
  op->add(stream, {a.view(), b.view()}, y.view());
  op->add(stream, {on_first.view(), b.view()}, on_first.view());
  op->add(stream, {a.view(), on_second.view()}, on_second.view());
  stream.synchronize();
  for (std::int64_t i = 0; i < y.elements(); ++i) ASSERT_EQ(y[i], a[i] + b[i]);
  expect_same("on first", on_first, y);
  expect_same("on second", on_second, y);
}

struct CastCase {
  DType to;
  float from;
  std::uint16_t bits;
};

TEST(Elementwise, CastRoundsToNearestEven) {
  const CastCase cases[] = {
      {DType::BF16, 1.0f, 0x3f80},
      {DType::BF16, -2.5f, 0xc020},
      {DType::BF16, 1.00390625f, 0x3f80},  // halfway to the next: to the even one below
      {DType::BF16, 1.01171875f, 0x3f82},  // halfway: to the even one above
      {DType::BF16, std::numeric_limits<float>::infinity(), 0x7f80},
      {DType::F16, 1.0f, 0x3c00},
      {DType::F16, 65504.0f, 0x7bff},
      {DType::F16, 65520.0f, 0x7c00},  // overflows to infinity
      {DType::F16, 5.9604645e-8f, 0x0001},
  };
  CpuStream stream;
  const auto op = make_cpu_elementwise();
  for (const auto& one : cases) {
    const auto from = HostTensor::of<float>({1}, {one.from});
    const HostTensor to({1}, one.to), back({1});
    op->cast(stream, from.view(), to.view());
    op->cast(stream, to.view(), back.view());
    stream.synchronize();
    EXPECT_EQ(*static_cast<const std::uint16_t*>(to.view().raw()), one.bits) << one.from;
    EXPECT_TRUE(std::isinf(back[0]) || std::abs(back[0] - one.from) <= std::abs(one.from) / 256.0f)
        << one.from;
  }
}

TEST(Elementwise, CastBetweenSixteenBitTypesAndOfOneTypeToItself) {
  CpuStream stream;
  const auto op = make_cpu_elementwise();
  const auto x = HostTensor::of<float>({3}, {1.5f, -0.25f, 1024.0f});  // exact in all three
  const HostTensor bf16({3}, DType::BF16), f16({3}, DType::F16), same({3}), back({3});
  op->cast(stream, x.view(), bf16.view());
  op->cast(stream, bf16.view(), f16.view());
  op->cast(stream, f16.view(), back.view());
  op->cast(stream, x.view(), same.view());
  stream.synchronize();
  expect_same("back", back, x);
  expect_same("same", same, x);
}

TEST(Elementwise, WrongTensorsThrow) {
  CpuStream stream;
  const auto op = make_cpu_elementwise();
  const HostTensor a({2, 3}), turned({3, 2}), integers({2, 3}, DType::I32);
  EXPECT_THROW(op->add(stream, {a.view(), turned.view()}, a.view()), Error);
  EXPECT_THROW(op->add(stream, {a.view(), {}}, a.view()), Error);
  EXPECT_THROW(op->cast(stream, a.view(), turned.view()), Error);
  EXPECT_THROW(op->cast(stream, a.view(), integers.view()), Error);
  EXPECT_THROW(op->cast(stream, {}, a.view()), Error);
}

TEST(ImageNormalize, NormalisesChannelsAndZeroesThoseBehind) {
  CpuStream stream;
  const auto op = make_cpu_image_normalize({.N = 1,
                                            .H = 1,
                                            .W = 2,
                                            .C = 3,
                                            .stored_channels = 4,
                                            .mean = {0.5f, 0.25f, 0.0f},
                                            .deviation = {0.5f, 0.25f, 1.0f}});
  const auto images = HostTensor::of<std::uint8_t>({1, 1, 2, 3}, {0, 255, 51, 255, 0, 102});
  const auto y = HostTensor::unwritten({1, 1, 2, 4});
  op->forward(stream, images.view(), y.view());
  stream.synchronize();
  const auto expected =
      HostTensor::of<float>({1, 1, 2, 4}, {-1.0f, 3.0f, 0.2f, 0.0f, 1.0f, -1.0f, 0.4f, 0.0f});
  expect_close("y", y, expected, 1e-7);
  EXPECT_EQ(y[3], 0.0f);
  EXPECT_EQ(y[7], 0.0f);
}

// Each pixel of the padded image, in its block; zero everywhere else.
TEST(ImageNormalize, GathersBlocksOfThePaddedImage) {
  const ImageNormalizeSpec spec{.N = 2,
                                .H = 3,
                                .W = 4,
                                .C = 3,
                                .stored_channels = 16,
                                .layout = PixelLayout::SpaceToDepth,
                                .padding = 3,
                                .mean = {0.25f, 0.5f, 0.75f},
                                .deviation = {0.5f, 0.5f, 0.5f}};
  ASSERT_EQ(spec.stored(), Shape({2, 5, 5, 16}));  // 9 rows and 10 columns
  auto plain_spec = spec;
  plain_spec.layout = PixelLayout::Plain;
  plain_spec.padding = 0;
  plain_spec.stored_channels = 3;
  HostTensor images({2, 3, 4, 3}, DType::U8);
  std::uint8_t next = 1;
  for (auto& byte : images.values<std::uint8_t>()) byte = next = static_cast<std::uint8_t>(next * 5 + 7);
  const auto plain = HostTensor::unwritten({2, 3, 4, 3}), y = HostTensor::unwritten(spec.stored());
  CpuStream stream;
  const auto op = make_cpu_image_normalize(spec), plain_op = make_cpu_image_normalize(plain_spec);
  op->forward(stream, images.view(), y.view());
  plain_op->forward(stream, images.view(), plain.view());
  stream.synchronize();
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::int64_t channel = i % 16, column = i / 16 % 5, row = i / 80 % 5, n = i / 400;
    const std::int64_t place = channel / 3, c = channel % 3;
    const std::int64_t h = 2 * row + place / 2 - 3, w = 2 * column + place % 2 - 3;
    const bool real = place < 4 && h >= 0 && h < 3 && w >= 0 && w < 4;
    ASSERT_EQ(y[i], real ? plain[((n * 3 + h) * 4 + w) * 3 + c] : 0.0f) << i;
  }
}

TEST(Elementwise, ZeroesThePaddingOfAFilterOnly) {
  const BlockedFilter filter{.K = 3, .C = 3, .R = 7, .S = 5, .stored_channels = 16};
  const auto before = HostTensor::random(filter.stored(), 1);
  const auto gradient = before.copy();
  CpuStream stream;
  make_cpu_elementwise()->zero_padding(stream, filter, gradient.view());
  stream.synchronize();
  std::int64_t weights = 0;
  for (std::int64_t i = 0; i < gradient.elements(); ++i) {
    ASSERT_EQ(gradient[i], filter.is_weight(i) ? before[i] : 0.0f) << i;
    weights += filter.is_weight(i);
  }
  EXPECT_EQ(weights, 3 * 3 * 7 * 5);
}

TEST(ImageNormalize, WrongTensorsAndSpecsThrow) {
  CpuStream stream;
  const auto op = make_cpu_image_normalize({.N = 1, .H = 2, .W = 2, .C = 1, .stored_channels = 1});
  const HostTensor images({1, 2, 2, 1}, DType::U8), floats({1, 2, 2, 1});
  EXPECT_NO_THROW(op->forward(stream, images.view(), floats.view()));
  stream.synchronize();
  EXPECT_THROW(op->forward(stream, floats.view(), floats.view()), Error);
  EXPECT_THROW(op->forward(stream, images.view(), floats.view().reshaped({1, 4, 1, 1})), Error);
  EXPECT_THROW(
      (void)make_cpu_image_normalize({.N = 1, .H = 1, .W = 1, .C = 1, .stored_channels = 1, .padding = 1}),
      Error);
  EXPECT_THROW(
      (void)make_cpu_image_normalize(
          {.N = 1, .H = 2, .W = 2, .C = 3, .stored_channels = 11, .layout = PixelLayout::SpaceToDepth}),
      Error);
  EXPECT_THROW((void)make_cpu_image_normalize({.N = 1, .H = 1, .W = 1, .C = 5, .stored_channels = 8}), Error);
  EXPECT_THROW((void)make_cpu_image_normalize({.N = 1, .H = 1, .W = 1, .C = 3, .stored_channels = 2}), Error);
  EXPECT_THROW((void)make_cpu_image_normalize(
                   {.N = 1, .H = 1, .W = 1, .C = 1, .stored_channels = 1, .deviation = {0.0f}}),
               Error);
}

}  // namespace
}  // namespace tandem

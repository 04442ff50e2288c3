#include "core/shape.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/tensor_view.h"

namespace tandem {
namespace {

TEST(Shape, CountsElementsAndPrints) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.elements(), ElementCount(30));
  EXPECT_EQ(shape.to_string(), "[2, 3, 5]");
  EXPECT_EQ(Shape{}.elements(), ElementCount(1));
  EXPECT_EQ((Shape{4, 0}).elements(), ElementCount(0));
}

TEST(Shape, RefusesWhatIsNoShape) {
  EXPECT_THROW((Shape{1, -1}), Error);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1}), Error);
  EXPECT_THROW((void)(Shape{2, 3}[2]), Error);
}

TEST(Count, RoundsUp) {
  EXPECT_EQ(ByteCount(0).rounded_up(ByteCount(256)), ByteCount(0));
  EXPECT_EQ(ByteCount(1).rounded_up(ByteCount(256)), ByteCount(256));
  EXPECT_EQ(ByteCount(256).rounded_up(ByteCount(256)), ByteCount(256));
}

TEST(TensorView, KnowsItsTypeAndSize) {
  float memory[6] = {};
  const TensorView view(memory, DType::F32, {2, 3});
  EXPECT_EQ(view.bytes(), ByteCount(24));
  EXPECT_EQ(view.data<float>(), memory);
  EXPECT_THROW((void)view.data<std::int32_t>(), Error);
  EXPECT_EQ(view.reshaped({6}).shape(), (Shape{6}));
  EXPECT_THROW((void)view.reshaped({5}), Error);
}

}  // namespace
}  // namespace tandem

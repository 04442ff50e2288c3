#include "train/energy_meter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tandem {
namespace {

TEST(PowerIntegral, IsTheAreaUnderStraightLines) {
  PowerIntegral integral;
  integral.add(1.0, 100.0);
  EXPECT_EQ(integral.joules(), 0.0);
  integral.add(3.0, 200.0);  // 2 s of 150 W on average
  EXPECT_EQ(integral.joules(), 300.0);
  integral.add(3.0, 50.0);  // a jump takes no time
  integral.add(4.0, 50.0);
  EXPECT_EQ(integral.joules(), 350.0);
}

// Fails after `readings`.
class CountedPower final : public PowerSource {
 public:
  explicit CountedPower(int readings) : left_(readings) {}
  std::optional<double> watts() override { return left_-- > 0 ? std::optional(100.0) : std::nullopt; }
  std::string description() const override { return "counted"; }
  bool exhausted() const { return left_ < 0; }

 private:
  std::atomic<int> left_;
};

TEST(EnergyMeter, GrowsWithTimeAndIsReadUpToNow) {
  CountedPower power(1'000'000);
  EnergyMeter meter(power, std::chrono::hours(1));  // only the readings that are asked for
  const auto first = meter.joules();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto second = meter.joules();
  ASSERT_TRUE(first && second);
  EXPECT_GE(*second - *first, 100.0 * 5e-3);
}

TEST(EnergyMeter, ReadsByItself) {
  CountedPower power(3);
  EnergyMeter meter(power, std::chrono::milliseconds(1));
  while (!power.exhausted()) std::this_thread::yield();
  EXPECT_EQ(meter.joules(), std::nullopt);
}

TEST(EnergyMeter, AFailedReadingMakesTheEnergyUnknownAndNotSmaller) {
  CountedPower power(2);
  EnergyMeter meter(power, std::chrono::hours(1));
  EXPECT_TRUE(meter.joules());
  EXPECT_EQ(meter.joules(), std::nullopt);
  EXPECT_EQ(meter.joules(), std::nullopt);
}

}  // namespace
}  // namespace tandem

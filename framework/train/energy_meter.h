// Energy as power over time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "device/power_source.h"

namespace tandem {

// Straight lines between readings (the trapezoid rule). Readings come in the order of time.
class PowerIntegral {
 public:
  void add(double at_s, double watts);
  double joules() const { return joules_; }

 private:
  std::optional<double> last_s_;
  double last_watts_ = 0.0;
  double joules_ = 0.0;
};

// Reads the source on a thread of its own until it is destroyed; the source outlives it.
class EnergyMeter {
 public:
  EnergyMeter(PowerSource& source, std::chrono::milliseconds interval);
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  // Since the meter was made, up to now: takes a reading. None from the first failed reading on. Any thread.
  std::optional<double> joules();

 private:
  void run(std::chrono::milliseconds interval);
  void read();  // REQUIRES mutex_

  PowerSource& source_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;
  bool failed_ = false;
  PowerIntegral integral_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace tandem

#include "train/energy_meter.h"

namespace tandem {

void PowerIntegral::add(double at_s, double watts) {
  if (last_s_) joules_ += (at_s - *last_s_) * (watts + last_watts_) / 2.0;
  last_s_ = at_s;
  last_watts_ = watts;
}

EnergyMeter::EnergyMeter(PowerSource& source, std::chrono::milliseconds interval) : source_(source) {
  {
    const std::lock_guard lock(mutex_);
    read();
  }
  thread_ = std::thread([this, interval] { run(interval); });
}

EnergyMeter::~EnergyMeter() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

std::optional<double> EnergyMeter::joules() {
  const std::lock_guard lock(mutex_);
  read();
  return failed_ ? std::nullopt : std::optional(integral_.joules());
}

void EnergyMeter::run(std::chrono::milliseconds interval) {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, interval, [this] { return ending_; })) read();
}

void EnergyMeter::read() {
  if (failed_) return;
  const auto watts = source_.watts();
  if (!watts) {
    failed_ = true;
    return;
  }
  integral_.add(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(), *watts);
}

}  // namespace tandem

// The CPU's stream: one worker thread that runs closures in the order they were enqueued.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "device/stream.h"

namespace tandem {

class CpuStream final : public Stream {
 public:
  CpuStream();
  ~CpuStream() override;  // runs what is enqueued, then ends the worker

  // Runs `work` on the worker after everything enqueued before. This is how CPU ops enqueue.
  void enqueue(std::function<void()> work);

  void record(Event& event) override;
  void wait(const Event& event) override;
  void copy(void* to, const void* from, ByteCount bytes) override;
  void zero(void* memory, ByteCount bytes) override;
  void synchronize() override;
  void throw_if_failed() const override;

 private:
  // `always` work (events) runs even after a failure, so that whoever waits on it wakes up.
  struct Task {
    std::function<void()> work;
    bool always;
  };

  void push(Task task);
  void run();
  std::exception_ptr failure() const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread worker_;  // last: starts when everything above exists
};

// The CpuStream behind a Stream. Throws Error if it belongs to another device.
CpuStream& as_cpu(Stream& stream);

}  // namespace tandem

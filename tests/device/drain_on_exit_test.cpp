#include "device/drain_on_exit.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "device/cpu/cpu_stream.h"

namespace tandem {
namespace {

TEST(DrainOnExit, WaitsForAllStreamsWhenAnExceptionLeaves) {
  CpuStream one;
  CpuStream two;
  bool one_ended = false;
  bool two_ended = false;
  try {
    const DrainOnExit drain({&one, &two});
    for (auto [stream, ended] : {std::pair{&one, &one_ended}, std::pair{&two, &two_ended}}) {
      stream->enqueue([ended] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        *ended = true;
      });
    }
    throw std::runtime_error("in between");
  } catch (const std::runtime_error&) {
    EXPECT_TRUE(one_ended);
    EXPECT_TRUE(two_ended);
  }
}

TEST(DrainOnExit, LetsTheFailureOfAStreamGo) {
  CpuStream stream;
  {
    const DrainOnExit drain({&stream});
    stream.enqueue([] { throw std::runtime_error("work"); });
  }
  EXPECT_THROW(stream.synchronize(), std::runtime_error);
}

}  // namespace
}  // namespace tandem

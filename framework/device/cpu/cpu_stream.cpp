#include "device/cpu/cpu_stream.h"

#include <cstring>
#include <utility>

#include "core/error.h"
#include "device/cpu/cpu_event.h"

namespace tandem {

CpuStream::CpuStream() : worker_([this] { run(); }) {}

CpuStream::~CpuStream() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

void CpuStream::push(Task task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void CpuStream::enqueue(std::function<void()> work) {
  push({std::move(work), false});
}

void CpuStream::record(Event& event) {
  auto* target = dynamic_cast<CpuEvent*>(&event);
  TANDEM_EXPECT(target != nullptr, "a CPU stream records CPU events only");
  const auto ticket = target->ask();
  push({[this, target, ticket] { target->reach(ticket, failure()); }, true});
}

void CpuStream::wait(const Event& event) {
  const auto* target = dynamic_cast<const CpuEvent*>(&event);
  TANDEM_EXPECT(target != nullptr, "a CPU stream waits on CPU events only");
  const auto ticket = target->latest();
  push({[target, ticket] { target->wait_for(ticket); }, true});
}

void CpuStream::copy(void* to, const void* from, ByteCount bytes) {
  enqueue([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes.value())); });
}

void CpuStream::zero(void* memory, ByteCount bytes) {
  enqueue([=] { std::memset(memory, 0, static_cast<std::size_t>(bytes.value())); });
}

void CpuStream::synchronize() {
  CpuEvent reached;
  record(reached);
  reached.synchronize();
}

std::exception_ptr CpuStream::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void CpuStream::throw_if_failed() const {
  if (const auto failed = failure()) std::rethrow_exception(failed);
}

void CpuStream::run() {
  while (true) {
    Task task;
    bool failed = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
      failed = failure_ != nullptr;
    }
    if (failed && !task.always) continue;
    try {
      task.work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
  }
}

CpuStream& as_cpu(Stream& stream) {
  auto* cpu = dynamic_cast<CpuStream*>(&stream);
  TANDEM_EXPECT(cpu != nullptr, "a CPU op was given a stream of another device");
  return *cpu;
}

}  // namespace tandem

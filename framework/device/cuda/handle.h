// Move-only owner of one handle of a C library.
#pragma once

#include <utility>

namespace tandem {

// `Destroy` takes the raw handle and does not throw. A default-made or moved-from handle owns nothing.
template <class T, auto Destroy>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T raw) : raw_(raw) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, T{})) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      raw_ = std::exchange(other.raw_, T{});
    }
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  T get() const { return raw_; }
  explicit operator bool() const { return raw_ != T{}; }
  void reset() noexcept {
    if (raw_ != T{}) Destroy(std::exchange(raw_, T{}));
  }

 private:
  T raw_{};
};

}  // namespace tandem

// Cuts stored tokens of any width into the samples of a TokenDataset.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace tandem {

// Number of samples of T+1 tokens, each sharing one token with the next, in `tokens` consecutive tokens.
inline std::int64_t window_count(std::int64_t tokens, std::int64_t sequence_length) {
  return tokens > 0 ? (tokens - 1) / sequence_length : 0;
}

// Copies the T+1 tokens at `window` to inputs [T] and targets [T], and returns the largest of them.
template <class Token>
Token copy_window(const Token* window, std::span<std::int32_t> inputs, std::span<std::int32_t> targets) {
  Token largest = window[0];
  inputs[0] = static_cast<std::int32_t>(window[0]);
  for (std::size_t t = 1; t < inputs.size(); ++t) {
    largest = std::max(largest, window[t]);
    inputs[t] = static_cast<std::int32_t>(window[t]);
    targets[t - 1] = inputs[t];
  }
  const Token last = window[inputs.size()];
  targets[inputs.size() - 1] = static_cast<std::int32_t>(last);
  return std::max(largest, last);
}

}  // namespace tandem

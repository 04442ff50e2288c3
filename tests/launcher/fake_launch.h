// Launch options that start the fake trainer on a config of two epochs.
#pragma once

#include <filesystem>

#include "launcher/launch.h"
#include "report/atomic_file.h"

namespace tandem {

inline LaunchOptions fake_launch(const std::filesystem::path& folder) {
  write_file_atomically(folder / "small.yaml", "train:\n  epochs: 2\n");
  return {.config = (folder / "small.yaml").string(), .ranks = 2, .trainer = FAKE_TRAINER};
}

}  // namespace tandem

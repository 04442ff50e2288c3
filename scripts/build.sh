#!/usr/bin/env bash
# Configures and builds: scripts/build.sh BUILD_DIR [CMake options]. Used by quickstart.sh and test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
cmake -S . -B "$build" -G Ninja "$@"
cmake --build "$build" --parallel "$(nproc)"

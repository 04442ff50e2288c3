#!/usr/bin/env bash
# The main job on a fresh Debian 12 or Ubuntu 24.04: installs what is needed, builds, leaves ./trainer and ./launcher
# here, and compares three links on two CPU ranks.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
scripts/build.sh build -DCMAKE_BUILD_TYPE=Release -DTANDEM_TESTS=OFF -DTANDEM_BENCHMARKS=OFF

echo
echo "Training a small ResNet on Fashion-MNIST with 2 CPU ranks over three links; this takes three to six minutes."
exec ./launcher compare --config fashion_resnet.yaml --ranks 2 --links shm,tcp,paced,paced-no-overlap --repeats 3 \
  --set data.limit=12288 train.epochs=2 --accuracy-run --fresh --out runs/quickstart

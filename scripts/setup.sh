#!/usr/bin/env bash
# Installs what Tandem needs from the distribution's packages. Debian 12 or Ubuntu 24.04, as root or with sudo.
#   scripts/setup.sh           to build and run
#   scripts/setup.sh --tests   also what scripts/test.sh uses
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ cmake ninja-build ccache pkg-config git ca-certificates
  libopenmpi-dev openmpi-bin libeigen3-dev libfmt-dev libspdlog-dev libyaml-cpp-dev libcli11-dev
  nlohmann-json3-dev libhwloc-dev zlib1g-dev libjs-chart.js dataset-fashion-mnist)
if [[ "${1:-}" == --tests ]]; then
  packages+=(libgtest-dev libgmock-dev libbenchmark-dev clang-format-14 clang-tidy-16 iproute2)
  # Ubuntu has Chromium as a snap only; there the tests of pages in a browser skip.
  [[ "$(. /etc/os-release && echo "$ID")" == debian ]] && packages+=(chromium)
elif [[ $# -gt 0 ]]; then
  echo "setup.sh: unknown argument '$1'; expected nothing or --tests" >&2
  exit 2
fi

missing=()
for package in "${packages[@]}"; do
  [[ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" == "install ok installed" ]] || missing+=("$package")
done
if ((${#missing[@]} > 0)); then
  as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || { echo "setup.sh: run as root or install sudo; needed: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

# The CUDA backend needs NVIDIA's cudnn-frontend headers, which no distribution packages.
if command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]]; then
  scripts/get_cudnn_frontend.sh || echo "setup: without cudnn-frontend's headers the build is for CPUs only" >&2
fi

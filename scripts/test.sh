#!/usr/bin/env bash
# All tests on a fresh Debian 12 or Ubuntu 24.04: installs what is needed, builds, runs the tests, the checks of style
# and the tests again under AddressSanitizer and UBSan. Multi-rank tests start mpirun themselves, as any user and with
# more ranks than cores.
set -euo pipefail
cd "$(dirname "$0")/.."
export CTEST_OUTPUT_ON_FAILURE=1

scripts/setup.sh --tests

echo "== format"
git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format-14 --dry-run --Werror

echo "== build and test"
scripts/build.sh build -DCMAKE_BUILD_TYPE=Release -DTANDEM_TESTS=ON -DTANDEM_BENCHMARKS=ON
ctest --test-dir build --parallel "$(nproc)"

echo "== clang-tidy"
# All checks of .clang-tidy everywhere, but the static analyzer, which takes as long as all others together: it looks at
# what owns memory, streams and threads, in its quick mode. Plain clang-tidy runs it in full.
sources() { git ls-files 'framework/*.cpp' 'models/*.cpp' 'programs/*.cpp' | grep -v /cuda/; }
tidy() {
  xargs --max-procs "$(nproc)" --max-args 4 clang-tidy-16 -p build --quiet --extra-arg=-Wno-unknown-warning-option "$@"
}
analyzed='^framework/(comm|core|data|device|layers|ops|optim|parallel|params|train)/'
quick=(-Xclang -analyzer-config -Xclang mode=shallow)
sources | grep -E "$analyzed" | tidy "${quick[@]/#/--extra-arg=}"
sources | grep -vE "$analyzed" | tidy '--checks=-clang-analyzer-*'

echo "== AddressSanitizer and UndefinedBehaviorSanitizer"
# -g1: names and lines for the sanitizers' reports, in less time than a debugger's information takes.
scripts/build.sh build-sanitize -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-g1 -DTANDEM_SANITIZE=ON \
  -DTANDEM_CUDA=OFF -DTANDEM_TESTS=ON -DTANDEM_BENCHMARKS=OFF
ctest --test-dir build-sanitize --parallel "$(nproc)"

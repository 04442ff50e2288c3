#!/usr/bin/env bash
# One call for a machine with NVIDIA GPUs: builds, tests, and measures beside PyTorch.
#   scripts/gpu_check.sh [--only STAGE,…] [--bouts PATTERN,…] [--gpus N] [--budget SECONDS] [OUT_DIR]
#
# Stages, in the order in which they run: build, tests, link, meter, fashion, bouts (these by default); by name only:
# doctor, links, proof, table, sweep, scaling (these for several GPUs: benchmarks/tables_2gpu.sh), kernels, emulate, loss,
# sanitize (compute-sanitizer on our own kernels) and cpu-tests (all other tests). scripts/gpu_stages.sh says what each does. Bouts, who meets in them and which come first:
# benchmarks/end_to_end/run_bouts.py --list. All stages share the budget (540 s). Later calls go on where earlier ones
# stopped, as long as build-gpu/ is there.
#
# OUT_DIR (build-gpu/results) gets gpu_DATE.json (with N GPUs gpuN_DATE.json) with all results, summary.txt, and the logs
# and other files as files.tar.gz; the JSON goes to benchmarks/results too, where a later call of the same day takes from it what it did not
# run itself. Needs .deps/cudnn-frontend (scripts/get_cudnn_frontend.sh) and, where the packages libjs-chart.js and
# dataset-fashion-mnist are not installed, .deps/chart.js/chart.min.js and .deps/fashion-mnist.
# shellcheck disable=SC2317 # functions are called through with_deadline
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

stages=(build doctor links tests proof link meter fashion kernels emulate bouts table sweep scaling loss sanitize cpu-tests)
only=build,tests,link,meter,fashion,bouts
bouts='*'
gpus=1
stands_for=8 # ranks, of one GPU over an emulated link
budget=540
out="build-gpu/results"
usage() { sed -n '2,/^# shellcheck/{/^# shellcheck/d;s/^# \{0,1\}//;p}' "$0"; }
while (($# > 0)); do
  case $1 in
    --only | --bouts | --gpus | --budget)
      (($# > 1)) || { echo "gpu_check.sh: $1 needs a value" >&2; exit 2; }
      case $1 in
        --only) only=$2 ;;
        --bouts) bouts=$2 ;;
        --gpus) gpus=$2 ;;
        --budget) budget=$2 ;;
      esac
      shift 2
      ;;
    --help | -h) usage; exit 0 ;;
    -*) echo "gpu_check.sh: unknown option '$1'; --help shows the options" >&2; exit 2 ;;
    *) out=$1; shift ;;
  esac
done
for stage in ${only//,/ }; do
  [[ " ${stages[*]} " == *" $stage "* ]] ||
    { echo "gpu_check.sh: unknown stage '$stage'; --help lists the stages" >&2; exit 2; }
done
[[ $gpus =~ ^[1-9][0-9]*$ ]] || { echo "gpu_check.sh: --gpus wants a number of GPUs, got '$gpus'" >&2; exit 2; }
[[ $budget =~ ^[0-9]+$ ]] || { echo "gpu_check.sh: --budget wants whole seconds, got '$budget'" >&2; exit 2; }

build="build-gpu"
work=$build/check # what stages leave for one another
mkdir -p "$work/measured" "$out" benchmarks/results
kept=benchmarks/results/gpu${gpus#1}_$(date -u +%Y-%m-%d).json
results=$out/${kept##*/}
earlier=()
if [[ -f $kept ]]; then
  cp "$kept" "$work/earlier.json"
  earlier=(--earlier "$work/earlier.json")
fi
failed=0

wants() { [[ ,$only, == *,$1,* ]]; }
# at_most SECONDS: that, or what is left of the budget if that is less; at least 1.
at_most() {
  local left=$((budget - SECONDS))
  left=$((left < $1 ? left : $1))
  echo $((left > 1 ? left : 1))
}

# note STAGE STATUS BEGIN: replaces what an earlier call noted of this stage.
note() {
  local table=$work/stages.tsv
  touch "$table"
  grep -v "^$1"$'\t' "$table" >"$table.new"
  printf '%s\t%s\t%d\n' "$1" "$2" $((SECONDS - $3)) >>"$table.new"
  mv "$table.new" "$table"
  echo "== $1: $2 after $((SECONDS - $3)) s"
}

# with_deadline SECONDS FUNCTION…: in a process group of its own, which ends when time is up; then the status is 124.
with_deadline() {
  local end=$((SECONDS + $1))
  shift
  set -m
  "$@" &
  group=$!
  set +m
  while kill -0 "$group" 2>/dev/null; do
    if ((SECONDS >= end)); then
      end_group
      return 124
    fi
    sleep 0.2
  done
  wait "$group"
}
group=
end_group() {
  [[ -n $group ]] || return 0
  kill -TERM -- "-$group" 2>/dev/null
  for _ in {1..50}; do
    kill -0 -- "-$group" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL -- "-$group" 2>/dev/null
  wait "$group" 2>/dev/null
}

# run_stage NAME SECONDS FUNCTION…: with a deadline, into NAME.log; returns the function's status.
run_stage() {
  local name=$1 seconds begin=$SECONDS status
  seconds=$(at_most "$2")
  shift 2
  echo "== $name, at most $seconds s"
  with_deadline "$seconds" "$@" >"$work/$name.log" 2>&1
  status=$?
  case $status in
    0) note "$name" passed "$begin" ;;
    124) note "$name" "out of time" "$begin" ;;
    *) note "$name" failed "$begin" ;;
  esac
  ((status == 0)) || failed=1
  return "$status"
}

# cuDNN, NCCL and cuBLAS are the system's where their headers are installed; else they come from PyTorch's wheels. The
# loader must find those first, since cuDNN loads most of itself by name at run time.
cmake_hints=()
libraries=()
use_vendor_wheels() {
  local wheels cublas header
  for header in /usr/include/cudnn.h /usr/include/x86_64-linux-gnu/cudnn.h /usr/local/cuda/include/cudnn.h; do
    [[ ! -f $header ]] || { echo "libraries: the system's ($header)"; return; }
  done
  wheels=$(python3 -c 'from importlib.util import find_spec
print(next(iter(find_spec("nvidia").submodule_search_locations)))' 2>/dev/null)
  if [[ -z $wheels ]]; then
    echo "libraries: the system's, since python3 has no NVIDIA wheels"
    return
  fi
  if [[ -f $wheels/cudnn/include/cudnn.h ]]; then
    cmake_hints+=("-DCUDNN_ROOT=$wheels/cudnn")
    libraries+=("$wheels/cudnn/lib")
  fi
  if [[ -f $wheels/nccl/include/nccl.h ]]; then
    cmake_hints+=("-DNCCL_ROOT=$wheels/nccl")
    libraries+=("$wheels/nccl/lib")
  fi
  cublas=$(find "$wheels" -name 'libcublasLt.so.*' -print -quit)
  [[ -z $cublas ]] || libraries+=("$(dirname "$cublas")")
  ((${#libraries[@]} > 0)) || return
  local joined
  printf -v joined '%s:' "${libraries[@]}"
  export LD_LIBRARY_PATH=$joined${LD_LIBRARY_PATH:-}
  echo "libraries: ${libraries[*]}"
}

# shellcheck source=scripts/gpu_stages.sh
source scripts/gpu_stages.sh

# Leaves all that there is in OUT_DIR; done early, so that a call that is cut short loses little.
publish() {
  python3 benchmarks/end_to_end/collect.py "$work" --out "$results" --gpus "$gpus" "${earlier[@]}" >"$out/summary.txt" 2>&1
  [[ ! -f $results ]] || cp "$results" "$kept"
  tar -czf "$out/files.tar.gz" -C "$work" .
}
trap 'end_group; publish; exit 143' TERM INT

use_vendor_wheels
publish_s=10 # seconds that the last steps may take
budget=$((budget > 2 * publish_s ? budget - publish_s : publish_s))

# What a reader of a failed stage's log looks for.
trouble() { grep -hE '\*\*\*|Failure|% tests passed|FAILED|=====|[Ee]rror|not found|DIFFERS|\*\*no\*\*' "$1" | head -n 60; }

for stage in "${stages[@]}"; do
  wants "$stage" || continue
  case $stage in
    build | bouts | cpu-tests) seconds=$budget ;;
    *) seconds=300 ;;
  esac
  run_stage "$stage" "$seconds" "stage_${stage//-/_}" || trouble "$work/$stage.log"
  publish
  [[ $stage != build || -x $build/bin/trainer ]] || { tail -n 20 "$work/build.log"; exit 1; }
done

cat "$out/summary.txt"
exit "$failed"

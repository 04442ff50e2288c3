#!/usr/bin/env bash
# NVLink against host-staged PCIe on two GPUs, beside PyTorch DDP: the whole set, in two calls of ten minutes.
#   benchmarks/tables_2gpu.sh first|second [--gpus N] [--budget SECONDS] [OUT_DIR]
#
# first: builds; doctor; the links by themselves; the tests of ranks over NCCL on both paths; the proof that each run took
# the link it was asked to take; ResNet-50, GPT-3 1.3B and GPT-2 beside DDP on both links, and the tables of the links.
# second: the other works, DDP with its bf16 hook and with CUDA graphs, sweeps of buckets and blocks.
# --gpus 1 tries the same on one GPU with emulated links and without DDP over a link. Results: scripts/gpu_check.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

part=${1:-}
(($# == 0)) || shift
gpus=2
[[ ${1:-} != --gpus ]] || { gpus=${2:?--gpus needs a number}; shift 2; }
if ((gpus == 1)); then
  bouts=('*.links' '*.b256.vs-default,*.b8.vs-default')
else
  bouts=("resnet50.b256.*.vs-default,gpt3_1_3b.*.vs-default,gpt2_124m.*.vs-default" \
    "resnet152.*.vs-default,resnet50.b32.*.vs-default,*-hook,*.vs-reduce-overhead")
fi
case $part in
  first) exec scripts/gpu_check.sh --gpus "$gpus" --only build,doctor,links,tests,proof,bouts,table --bouts "${bouts[0]}" "$@" ;;
  second) exec scripts/gpu_check.sh --gpus "$gpus" --only build,bouts,table,sweep --bouts "${bouts[1]}" "$@" ;;
  *)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
    ;;
esac

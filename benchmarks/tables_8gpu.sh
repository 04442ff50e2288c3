#!/usr/bin/env bash
# Scaling to eight GPUs, and NVLink against host-staged PCIe there, beside PyTorch DDP: the whole set, in two calls of ten
# minutes.
#   benchmarks/tables_8gpu.sh first|second [--gpus N] [--budget SECONDS] [OUT_DIR]
#
# first: builds; doctor; the links by themselves; ResNet-50 and GPT-3 1.3B beside DDP on both links; the tables of the links.
# second: the other works beside DDP; weak scaling over 1, 2, 4 and 8 ranks, strong scaling of ResNet-50; sweeps of buckets.
# --gpus 4 does the same with four; --gpus 1 tries it on one GPU with emulated links. Results: scripts/gpu_check.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

part=${1:-}
(($# == 0)) || shift
gpus=8
[[ ${1:-} != --gpus ]] || { gpus=${2:?--gpus needs a number}; shift 2; }
if ((gpus == 1)); then
  bouts=('resnet50.b256.links,gpt3*.links' 'gpt2*.links')
else
  bouts=("resnet50.b256.*.vs-default,gpt3_1_3b.*.vs-default" \
    "gpt2_124m.*.vs-default,resnet152.*.vs-default,resnet50.b32.*.vs-default")
fi
case $part in
  first) exec scripts/gpu_check.sh --gpus "$gpus" --only build,doctor,links,bouts,table --bouts "${bouts[0]}" "$@" ;;
  second) exec scripts/gpu_check.sh --gpus "$gpus" --only build,scaling,bouts,table,sweep --bouts "${bouts[1]}" "$@" ;;
  *)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
    ;;
esac

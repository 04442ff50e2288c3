# shellcheck shell=bash
# What the stages of gpu_check.sh do; it sources this file. Every function succeeds if all that it proves holds, and
# leaves its numbers as $work/measured/NAME.json.
# shellcheck disable=SC2154 # $build, $work and the like are gpu_check.sh's

# The test programs of the GPU lie in folders named cuda.
gpu_test_folders() { find tests -type d -name cuda -exec test -e '{}/CMakeLists.txt' ';' -print; }

configure_and_build() {
  local targets=(trainer launcher probe emulated_link_bench emulated_link_replay meter_bench) folder
  while read -r folder; do targets+=("$folder/all"); done < <(gpu_test_folders)
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTANDEM_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90 \
    -DTANDEM_BENCHMARKS=ON "${cmake_hints[@]}" &&
    cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]}" -- -k 0
}

# Which libraries the trainer loads; one that is missing, or a cuDNN of another place than its headers, fails the stage.
check_libraries() {
  local loaded wanted
  loaded=$(ldd "$build/bin/trainer" | grep -E 'cudnn|nccl|cublas|not found')
  echo "$loaded"
  [[ $loaded != *"not found"* ]] || return 1
  wanted=$(sed -n 's/^CUDNN_LIBRARY:[A-Z]*=//p' "$build/CMakeCache.txt")
  loaded=$(sed -n 's/.*libcudnn\.so[^ ]* => \([^ ]*\).*/\1/p' <<<"$loaded")
  [[ -n $wanted && $(realpath "$wanted") == "$(realpath "$loaded")" ]] && return
  echo "the trainer was built with $wanted and would load $loaded" >&2
  return 1
}

stage_build() { configure_and_build && check_libraries; }

stage_tests() {
  local folder status=0 count=0
  while read -r folder; do
    ctest --test-dir "$build/$folder" --parallel 8 --timeout 120 --output-on-failure --no-tests=error \
      --output-junit "$PWD/$work/tests-$((count++)).xml" || status=1
  done < <(gpu_test_folders)
  return "$status"
}

stage_cpu_tests() {
  cmake --build "$build" --parallel "$(nproc)" -- -k 0 &&
    ctest --test-dir "$build" --exclude-regex '^([^/]*/)?Cuda' --parallel "$(($(nproc) / 2 + 1))" --output-on-failure
}

# Death tests fork, and cuDNN's and cuBLAS's kernels are not ours to check. Kernels are templates over the dtype: one of
# 16 bits stands for all. The tools run side by side: most of their time is the host's.
stage_sanitize() {
  local folder program tool status=0 job jobs=()
  while read -r folder; do
    while read -r program; do
      for tool in memcheck racecheck; do
        compute-sanitizer --tool "$tool" --kernel-regex kns=tandem --error-exitcode 9 --print-limit 20 \
          "$program" --gtest_filter='*bf16*:*Emulated*:*StreamWord*:-*Death*' --gtest_brief=1 \
          >"$work/sanitize-${program##*/}-$tool.log" 2>&1 &
        jobs+=("$!:$program:$tool")
      done
    done < <(find "$build/$folder" -maxdepth 1 -type f -executable -name '*cuda*_test')
  done < <(gpu_test_folders)
  ((${#jobs[@]} > 0)) || { echo "error: no test programs; run the stage build first" && return 1; }
  for job in "${jobs[@]}"; do
    if wait "${job%%:*}"; then
      echo "${job#*:}: clean"
    else
      echo "${job#*:}: FAILED"
      status=1
    fi
    program=${job#*:} tool=${job##*:}
    program=${program%:*}
    tail -n 5 "$work/sanitize-${program##*/}-$tool.log"
  done
  return "$status"
}

# Does an emulated all-reduce last as long as its link's formula says, within 3 %?
stage_link() {
  local found=$work/emulated_link.json status=0
  "$build/benchmarks/emulated_link/emulated_link_bench" >"$found" || status=1
  [[ ! -s $found ]] || mv "$found" "$work/measured/"
  return "$status"
}

# Is the meter right on a GPU?
stage_meter() {
  python3 benchmarks/meter/meter.py --build "$build" --only-cuda --out "$work/measured/meter_cuda.json"
}

# Where the steps go, and the exposed time by the kernels beside the meter's.
stage_kernels() {
  cmake --build "$build" --target kernel_trace || return
  local status=0 work_name
  for work_name in resnet50 gpt2_124m gpt3_1.3b; do
    echo "# $work_name"
    python3 benchmarks/kernels/kernels.py "$work_name" --build "$build" \
      --out "$work/measured/kernels_${work_name/./_}.json" || status=1
  done
  for work_name in gpt2_124m resnet50; do
    echo "# $work_name over an emulated host-staged link"
    python3 benchmarks/kernels/kernels.py "$work_name" --build "$build" --link pcie --stands-for 2 \
      --out "$work/measured/kernels_${work_name}_pcie2.json" || status=1
  done
  return "$status"
}

# The package's folder, or a copy of it where there is no package to install.
fashion_mnist() {
  local folder
  for folder in /usr/share/datasets/fashion-mnist .deps/fashion-mnist; do
    [[ ! -d $folder ]] || { realpath "$folder"; return; }
  done
  echo "error: Fashion-MNIST is neither installed (dataset-fashion-mnist) nor in .deps/fashion-mnist" >&2
  return 1
}

# ResNet-18 must reach 92 % on Fashion-MNIST in less than two minutes of training.
stage_fashion() {
  local data
  data=$(fashion_mnist) || return
  "$build/bin/trainer" --config fashion_resnet18.yaml --out "$work/fashion" --set "data.path=$data" || return
  python3 - "$work/fashion/record.json" "$work/measured/fashion_resnet18.json" <<'PYTHON'
import json, sys
record = json.load(open(sys.argv[1]))
found = {
    "command": record["command_line"], "program": record["program"], "versions": record["versions"],
    "accuracy": record["results"]["correct"] / record["results"]["total"],
    "training_s": sum(epoch["wall_s"] - epoch["eval_s"] for epoch in record["epochs"]), "epochs": record["epochs"],
}
json.dump(found, open(sys.argv[2], "w"), indent=1)
print(f"accuracy {100 * found['accuracy']:.2f} %, wanted 92; {found['training_s']:.1f} s of training, allowed 120")
sys.exit(not (found["accuracy"] >= 0.92 and found["training_s"] < 120))
PYTHON
}

# The speedup tables of one GPU that stands for eight, and whether its waits are those of two streams on paper.
stage_emulate() {
  local status=0 config steps
  for config in resnet50:120 gpt2_124m:40 resnet152:60 gpt3_1.3b:20; do
    steps=${config#*:} config=${config%:*}
    echo "# $config"
    "$build/bin/launcher" compare --config "$config.yaml" --links nvlink,pcie --emulate ranks=8 --repeats 3 \
      --out "$work/emulate/$config" --set "train.max_steps=$((steps + 20))" train.warmup_steps_excluded=20 \
      train.eval_every=0 &&
      cp "$work/emulate/$config/compare.json" "$work/measured/emulated_${config/./_}.json" || status=1
    find "$work/emulate/$config" -name record.json -print0 | sort -z |
      xargs -0 "$build/benchmarks/emulated_link/emulated_link_replay" \
        >"$work/measured/emulated_${config/./_}_replay.json" || status=1
  done
  return "$status"
}

# Does Tandem learn as PyTorch does?
stage_loss() {
  local data
  data=$(fashion_mnist) || return
  python3 benchmarks/loss_curves/loss_curves.py --build "$build" --fashion-mnist "$data" \
    --out "$work/measured/loss_curves.json"
}

stage_bouts() {
  python3 benchmarks/end_to_end/run_bouts.py --dir "$work" --out "$results" --gpus "$gpus" --bouts "$bouts" \
    --programs "$build/bin" --budget "$(($(at_most "$budget") - 5))" "${earlier[@]}"
}

# With several GPUs: what is here, and what the links are worth by themselves.
stage_doctor() {
  "$build/bin/launcher" doctor --ranks "$gpus" || (($? == 1)) # 1: warnings
}

stage_links() {
  "$build/bin/launcher" bench --links nvlink,pcie --ranks "$gpus" --repeats 2 --factor 8 --out "$work/links" &&
    cp "$work/links/bench.json" "$work/measured/links.json"
}

# What a run on $gpus GPUs needs beside its config; on one GPU an emulated link that stands for $stands_for.
link_settings() {
  local link=$1
  echo "comm.link=$link"
  ((gpus > 1)) || printf '%s\n' comm.backend=emulated "comm.emulate_ranks=$stands_for"
}
short_run=(train.max_steps=80 train.warmup_steps_excluded=20 train.eval_every=0)

# launch FOLDER CONFIG RANKS SETTING…
launch() {
  local folder=$1 config=$2 ranks=$3
  shift 3
  "$build/bin/launcher" run --config "$config.yaml" --ranks "$ranks" --out "$folder" --set "${short_run[@]}" "$@"
}

# Every link must be the one that was asked for, and a run that expects another one must fail.
stage_proof() {
  ((gpus > 1)) || { echo "one GPU has no link to prove"; return; }
  local link other status=0
  local -A others=([nvlink]=pcie [pcie]=nvlink)
  for link in nvlink pcie; do
    other=${others[$link]}
    launch "$work/proof/$link" resnet50 "$gpus" "comm.link=$link" "comm.expect=$link" || status=1
    if launch "$work/proof/$link-not-$other" resnet50 "$gpus" "comm.link=$link" "comm.expect=$other"; then
      echo "FAILED: over $link, a run that expects $other went through"
      status=1
    fi
  done
  return "$status"
}

# Buckets and blocks of a collective, where they matter most.
stage_sweep() {
  local status=0 link config
  for link in nvlink pcie; do
    for config in resnet50 gpt3_1.3b; do
      mapfile -t settings < <(link_settings "$link")
      "$build/bin/launcher" sweep --config "$config.yaml" comm.bucket_mb=1,4,8,25,100 comm.max_ctas=0,4 \
        --ranks "$gpus" --repeats 1 --budget 1 --out "$work/sweep/$config-$link" --set "${short_run[@]}" \
        "${settings[@]}" &&
        cp "$work/sweep/$config-$link/sweep.json" "$work/measured/sweep_${config/./_}_$link.json" || status=1
    done
  done
  return "$status"
}

# Weak scaling over 1, 2, 4, … ranks for the works of most interest, and strong scaling for ResNet-50.
stage_scaling() {
  local status=0 config ranks
  for config in resnet50 gpt3_1.3b gpt2_124m resnet152; do
    for ((ranks = 1; ranks <= gpus; ranks *= 2)); do
      launch "$work/weak/$config-$ranks" "$config" "$ranks" comm.link=nvlink || status=1
    done
    "$build/bin/launcher" report "$work/weak/$config-"*
  done
  for ((ranks = 1; ranks <= gpus; ranks *= 2)); do
    launch "$work/strong/resnet50-$ranks" resnet50 "$ranks" comm.link=nvlink "train.micro_batch=$((256 / ranks))" ||
      status=1
  done
  "$build/bin/launcher" report "$work/strong/resnet50-"*
  return "$status"
}

# The speedup tables of the links, from the rounds that the bouts left.
stage_table() {
  local status=0 found cell
  for cell in resnet50.b256 gpt3_1_3b.b8 gpt2_124m.b64 resnet152.b128 resnet50.b32; do
    mapfile -t found < <(find "$work" -path "*/tandem.$cell.*link$gpus/round*/record.json" \
      -o -path "*/tandem.$cell.pcie$gpus/round*/record.json" | sort)
    ((${#found[@]} > 1)) || { echo "# $cell: not measured"; continue; }
    echo "# $cell"
    "$build/bin/launcher" report "${found[@]}" || status=1
  done
  return "$status"
}

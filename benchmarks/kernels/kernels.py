#!/usr/bin/env python3
"""Where a step on a GPU goes, kernel by kernel, and whether the meter's exposed time is that of the kernels.

    benchmarks/kernels/kernels.py resnet50 --build build-gpu --out kernels_resnet50.json
    benchmarks/kernels/kernels.py gpt2_124m --link pcie --stands-for 2

Trains a work under CUPTI (kernel_trace.cpp), which sees every kernel, those in graphs too, and takes the steps after
warm-up. Kernels are summed by what they do. Time in which only all-reduces run, only copies, or nothing at all
have rows of their own, so that the table adds up to the step. With a link, the first of them is the
exposed time as the kernels show it, beside what the meter of the same run says; they must agree within 3 % of the busy time or
50 us. Tracing lengthens a step a little: compare shares, not milliseconds, with other runs.
"""

import argparse
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WARMUP_STEPS = 20
END_OF_STEP = "::end_step("  # ops/cuda/step_kernels.cu: once per step

# The first that matches counts. Our own kernels have telling names; the libraries' are told by the patterns of theirs.
COMMUNICATION = "all-reduce"
COPIES = "copies"
CLASSES = [
    (COMMUNICATION, r"emulated_transfer|stamp_turn|ncclDevKernel|ncclKernel"),
    ("attention", r"fmha|flash|sdpa|causal_softmax|attention|compute_dot_do_o|convert_dq"),
    ("convolution", r"fprop|dgrad|wgrad|convolve|conv2d|implicit_gemm|zero_padding_one"),
    ("batch norm", r"channels_per_thread|channel_per_column|patch_per_thread|apply_output_pack_per_thread"),
    ("layer norm", r"row_in_registers|finish_gradients_column"),
    ("loss", r"cross_entropy_row|add_up_rows"),
    ("optimizer", r"update_chunk_per_block|sum_squares|finish_norm|clear_results|end_step"),
    ("embedding", r"embed_pack|number_position|add_rows_of_tokens|add_sequences|DeviceRadixSort"),
    ("bias gradient", r"column_sum"),
    ("pool", r"max_output_pack|average_output_pack|gradient_input_pack"),
    ("matrix product", r"nvjet|gemm|cutlass|cublas|splitK|wgmma"),  # some with GELU in their epilogue; 1 x 1 convolutions
    ("elementwise", r"add_pack_per_thread|drop_elements|normalize_outputs|gelu|store_gradient|add_bias"),
]


def class_of(activity):
    if activity.what != "kernel":
        return COPIES
    return next((name for name, pattern in CLASSES if re.search(pattern, activity.name)), "other kernels")


Activity = collections.namedtuple("Activity", "what begin end stream name")


def read_trace(path):
    """In the order of their beginnings."""
    found = []
    for line in path.read_text().splitlines():
        what, begin, end, stream, name = line.split("\t", 4)
        found.append(Activity(what, int(begin), int(end), int(stream), name))
    return sorted(found, key=lambda activity: activity.begin)


def steps_of(activities, count):
    """The last `count` steps: from the end of one step's last kernel to the end of the next one's."""
    ends = [activity.end for activity in activities if END_OF_STEP in activity.name]
    if len(ends) < count + 1:
        raise ValueError(f"{len(ends)} steps are in the trace, {count + 1} are needed")
    ends = ends[-count - 1 :]
    steps = [[] for _ in range(count)]
    number = 0
    for activity in activities:
        while number < count and activity.begin >= ends[number + 1]:
            number += 1
        if number < count and activity.begin >= ends[0]:
            steps[number].append(activity)
    return [(begin, end, step) for begin, end, step in zip(ends, ends[1:], steps)]


def union(intervals):
    """Disjoint intervals that cover the same time, sorted."""
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def length(intervals):
    return sum(end - begin for begin, end in union(intervals))


def parts_of_step(begin, end, activities):
    """Milliseconds by class of compute; then what is left of the step: all-reduces alone, copies alone, nothing.

    Told by the kernels' names and not by streams: the streams of a graph's kernels are the driver's.
    """
    parts = collections.Counter()
    launches = collections.Counter()
    compute, link, copies = [], [], []
    reached = begin
    for activity in sorted(activities, key=lambda activity: activity.begin):
        kind = class_of(activity)
        interval = (max(activity.begin, begin), min(activity.end, end))
        if kind in (COMMUNICATION, COPIES):
            (link if kind == COMMUNICATION else copies).append(interval)
            continue
        compute.append(interval)
        launches[kind] += 1
        # Kernels may overlap: time counts once, for the earlier.
        parts[kind] += max(0, interval[1] - max(interval[0], reached))
        reached = max(reached, interval[1])
    parts["all-reduce alone"] = length(compute + link) - length(compute)
    parts["copies alone"] = length(compute + link + copies) - length(compute + link)
    parts["nothing"] = (end - begin) - length(compute + link + copies)
    return {kind: ns * 1e-6 for kind, ns in parts.items()}, launches, length(link) * 1e-6


def analyse(activities, count):
    steps = [parts_of_step(*step) for step in steps_of(activities, count)]
    kinds = sorted({kind for parts, _, _ in steps for kind in parts})
    step_ms = statistics.fmean(sum(parts.values()) for parts, _, _ in steps)
    rows = []
    for kind in kinds:
        ms = statistics.fmean(parts.get(kind, 0.0) for parts, _, _ in steps)
        launches = statistics.fmean(launches[kind] for _, launches, _ in steps)
        rows.append({"part": kind, "kernels": launches, "ms": ms, "share": ms / step_ms})
    rows.sort(key=lambda row: -row["ms"])
    exposed = next(row["ms"] for row in rows if row["part"] == "all-reduce alone")
    return {"step_ms": step_ms, "steps": count, "parts": rows, "exposed_ms": exposed,
            "all_reduce_busy_ms": statistics.fmean(busy for _, _, busy in steps)}


def most_expensive(activities, count, most=25):
    """Kernels by name, of the same steps."""
    spent = collections.Counter()
    launches = collections.Counter()
    for _, _, step in steps_of(activities, count):
        for activity in step:
            spent[activity.name] += activity.end - activity.begin
            launches[activity.name] += 1
    return [{"kernel": name[:200], "ms": ns * 1e-6 / count, "launches": launches[name] / count}
            for name, ns in spent.most_common(most)]


def meter_of(record, count):
    """What the run's own meter says of the same steps, on its events."""
    rank = record["timing"][0]
    mean = lambda quantity: statistics.fmean(ms or 0.0 for ms in rank[quantity][-count:])
    return {"step_ms": mean("step_ms"), "exposed_ms": mean("exposed_ms"), "busy_ms": mean("comm_busy_ms")}


def agreement(found, meter):
    difference = abs(found["exposed_ms"] - meter["exposed_ms"])
    return difference <= max(0.03 * found["all_reduce_busy_ms"], 0.05)


def table(found):
    lines = ["| part of the step | kernels | ms | share % |", "| --- | ---: | ---: | ---: |"]
    for row in found["parts"]:
        lines.append(f"| {row['part']} | {row['kernels']:.0f} | {row['ms']:.3f} | {100 * row['share']:.1f} |")
    lines.append(f"| **step** | | {found['step_ms']:.3f} | 100.0 |")
    return "\n".join(lines)


def command_of(options, folder):
    line = [str(options.build / "bin" / "trainer"), "--config", f"{options.work}.yaml", "--out", str(folder / "run")]
    settings = {"train.max_steps": WARMUP_STEPS + options.steps + 1, "train.warmup_steps_excluded": WARMUP_STEPS,
                "train.eval_every": 0}
    if options.link:
        settings |= {"comm.backend": "emulated", "comm.link": options.link, "comm.emulate_ranks": options.stands_for}
    for assignment in [*(f"{key}={value}" for key, value in settings.items()), *options.set]:
        line += ["--set", assignment]
    return line


def run(options, folder):
    library = (options.build / "benchmarks" / "kernels" / "libkernel_trace.so").resolve()
    if not library.exists():
        sys.exit(f"kernels.py: {library} is not there: build with -DTANDEM_BENCHMARKS=ON and CUPTI")
    trace = folder / "trace.tsv"
    environment = os.environ | {"CUDA_INJECTION64_PATH": str(library), "TANDEM_KERNEL_TRACE": str(trace)}
    line = command_of(options, folder)
    done = subprocess.run(line, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0 or not trace.exists():
        sys.exit(f"{' '.join(line)} ended with {done.returncode}\n{done.stderr}")
    return line, read_trace(trace), json.loads((folder / "run" / "record.json").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", help="a config, such as resnet50")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="build directory (default: build)")
    parser.add_argument("--steps", type=int, default=30, help="steps to look at (default: 30)")
    parser.add_argument("--link", choices=["nvlink", "pcie"], help="with an emulated link")
    parser.add_argument("--stands-for", type=int, default=8, help="ranks of the emulated link (default: 8)")
    parser.add_argument("--set", nargs="*", default=[], help="keys of the config")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        line, activities, record = run(options, Path(folder))
    found = analyse(activities, options.steps)
    print(table(found))
    result = {"benchmark": "kernels", "command": line, "versions": record["versions"], **found,
              "kernels": most_expensive(activities, options.steps), "meter": meter_of(record, options.steps)}
    agrees = True
    if options.link:
        agrees = result["agrees"] = agreement(found, result["meter"])
        print(f"\nexposed: {found['exposed_ms']:.3f} ms by the kernels, {result['meter']['exposed_ms']:.3f} ms by the "
              f"meter, of {found['all_reduce_busy_ms']:.3f} ms of all-reduce: {'agrees' if agrees else 'DIFFERS'}")
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())

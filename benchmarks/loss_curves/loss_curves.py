#!/usr/bin/env python3
"""Does Tandem learn as PyTorch does? The same two trainings by both, some seeds each, and their loss curves compared.

    benchmarks/loss_curves/loss_curves.py --build build-gpu --out loss_curves.json

  fashion_resnet18   ResNet-18 on Fashion-MNIST, SGD with Nesterov's momentum
  gpt_text           a byte-level GPT on licence texts, AdamW, clipped

Seeds differ in first weights, order and augmentation, on each side by its own generator, so single runs differ, too. The
loss is averaged over windows of steps; in each window the difference of the means over seeds must lie within what the
scatter of the seeds explains: |difference| <= t sqrt(var1/n + var2/n), t Student's two-sided 99 % for 2(n-1) degrees of
freedom, and at least 1 % of the loss. Prints a table, writes JSON, and exits 1 if a window does not hold.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEER = Path(__file__).resolve().parent / "torch_training.py"
STUDENT_99 = {2: 9.925, 4: 4.604, 6: 3.707, 8: 3.355}
FLOOR = 0.01
SETTINGS = {
    "fashion_resnet18": ["optim.warmup_epochs=0", "optim.warmup_steps=100"],
    "gpt_text": ["model.dropout=0"],
}
ON_GPU = ["device.kind=cuda", "precision.compute=bf16", "precision.reduce=bf16"]
ON_CPU = ["device.kind=cpu", "precision.compute=fp32", "precision.reduce=fp32"]


def run(line):
    done = subprocess.run([str(word) for word in line], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, line))} ended with {done.returncode}\n{done.stderr}")
    return done.stdout


def tandem(options, work, seed):
    with tempfile.TemporaryDirectory() as folder:
        line = [options.build / "bin" / "trainer", "--config", f"{work}.yaml", "--out", folder, "--set"]
        line += [f"seed={seed}", f"train.max_steps={options.steps}", "train.log_every=1", "train.eval_every=0"]
        if work == "fashion_resnet18":
            line.append(f"data.path={options.fashion_mnist}")
        run(line + SETTINGS[work] + (ON_CPU if options.cpu else ON_GPU))
        record = json.loads((Path(folder) / "record.json").read_text())
    return [entry["loss"] for entry in record["losses"]]


def peer(options, work, seed):
    return json.loads(run([sys.executable, PEER, work, "--steps", options.steps, "--seed", seed,
                           "--fashion-mnist", options.fashion_mnist]))


def windows(losses, width):
    return [statistics.fmean(losses[begin : begin + width]) for begin in range(0, len(losses) - width + 1, width)]


def compare(ours, theirs, width):
    """Rows of windows; ours and theirs: one list of losses for each seed."""
    seeds = len(ours)
    student = STUDENT_99[2 * (seeds - 1)]
    rows = []
    for number, (mine, other) in enumerate(zip(zip(*(windows(run, width) for run in ours)),
                                               zip(*(windows(run, width) for run in theirs)))):
        means = statistics.fmean(mine), statistics.fmean(other)
        band = student * math.sqrt((statistics.variance(mine) + statistics.variance(other)) / seeds)
        band = max(band, FLOOR * means[1])
        rows.append({"steps": [number * width, (number + 1) * width], "tandem": list(mine), "peer": list(other),
                     "difference": means[0] - means[1], "band": band, "holds": abs(means[0] - means[1]) <= band})
    return rows


def table(work, rows):
    lines = [f"{work}, mean loss over seeds", "", "| steps | Tandem | PyTorch | difference | band | holds |",
             "| --- | ---: | ---: | ---: | ---: | --- |"]
    for row in rows:
        begin, end = row["steps"]
        lines.append(f"| {begin}-{end - 1} | {statistics.fmean(row['tandem']):.4f} | {statistics.fmean(row['peer']):.4f} "
                     f"| {row['difference']:+.4f} | {row['band']:.4f} | {'yes' if row['holds'] else '**no**'} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("works", nargs="*", default=list(SETTINGS), help="which trainings (default: both)")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="build directory (default: build)")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--window", type=int, default=50, help="steps that a loss is averaged over (default: 50)")
    parser.add_argument("--seeds", type=int, default=3, choices=range(2, 6), help="runs of each side (default: 3)")
    parser.add_argument("--fashion-mnist", type=Path, default="/usr/share/datasets/fashion-mnist", help="its folder")
    parser.add_argument("--cpu", action="store_true", help="on CPUs in fp32, for a trial with few steps")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args()
    if unknown := set(options.works) - set(SETTINGS):
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(SETTINGS)}")
    found = {"benchmark": "loss_curves", "command": sys.argv, "steps": options.steps, "works": {}}
    for work in options.works:
        seeds = range(1, options.seeds + 1)
        ours = [tandem(options, work, seed) for seed in seeds]
        theirs = [peer(options, work, seed) for seed in seeds]
        rows = compare(ours, theirs, options.window)
        print(table(work, rows), end="\n\n", flush=True)
        found["works"][work] = {"windows": rows, "tandem": ours, "peer": theirs}
    if options.out:
        options.out.write_text(json.dumps(found) + "\n")
    return 0 if all(row["holds"] for one in found["works"].values() for row in one["windows"]) else 1


if __name__ == "__main__":
    sys.exit(main())

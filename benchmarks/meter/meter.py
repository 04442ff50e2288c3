#!/usr/bin/env python3
"""Is the meter right? Measures what is known beforehand, in real time, and compares.

  simulation        kernels and all-reduces of known length (CPU: sleeps; GPU: kernels that spin): exposed, busy and
                    step time must be those of a simulation of two streams, within 5 %
  no overlap        everything sent after the backward pass: overlap ratio < 0.03, exposed / busy 0.97 to 1.03
  one rank          communication share 0, overlap ratio n/a
  a delayed rank    20 ms late in each step: its peers' peer wait rises by 20 ms, the wire stays within 10 %
  metrics off/on    the step time changes by less than 1 %, the weights by no bit
  metrics.jsonl     a line takes less than 0.1 % of such a step, on the training thread and on all threads
  the control run   leaves the weights as they are; two T_off differ by less than 1 %

Prints a table, writes JSON, and exits 1 if a row does not hold. All of it needs a quiet machine: where others compute,
a sleep ends late, and what was known beforehand no longer holds. Run it from anywhere, with ./trainer and meter_bench
(cmake -DTANDEM_BENCHMARKS=ON) built:

  benchmarks/meter/meter.py [--build build] [--repeats 5] [--cuda | --only-cuda] [--out FILE]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIG = "benchmarks/meter/meter.yaml"
MPIRUN = ["mpirun", "-np", "2", "--oversubscribe", "--bind-to", "none"]


def run(command):
    """Standard output of a command that must succeed."""
    environment = dict(os.environ)
    if os.geteuid() == 0:  # mpirun wants to hear it from root
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stderr}")
    return done.stdout


def train(out, *assignments):
    command = [*MPIRUN, "./trainer", "--config", CONFIG, "--out", str(out)]
    for assignment in assignments:
        command += ["--set", assignment]
    run(command)
    return json.loads((out / "record.json").read_text())


def row(proof, quantity, expected, measured, tolerance):
    return {"proof": proof, "quantity": quantity, "expected": expected, "measured": measured,
            "tolerance": tolerance, "holds": abs(measured - expected) <= tolerance}


def step_ms(record):
    """Mean step of the epochs after the first, from wall time alone: there are no stamps with metrics off."""
    epochs = record["epochs"][1:]
    return 1e3 * sum(epoch["wall_s"] for epoch in epochs) / sum(epoch["steps"] for epoch in epochs)


def metrics_rows(folder, repeats):
    records = {"off": [], "summary": []}
    for repeat in range(repeats):
        for level in list(records)[::1 if repeat % 2 == 0 else -1]:
            records[level].append(train(folder / f"{level}-{repeat}", f"report.metrics={level}"))
    times = {level: [step_ms(record) for record in of_level] for level, of_level in records.items()}
    ratio = statistics.median(on / off for on, off in zip(times["summary"], times["off"]))
    hashes = {record["parameter_hash"] for of_level in records.values() for record in of_level}
    return [row("metrics on / off", "step time, median ratio of pairs", 1.0, ratio, 0.01),
            row("metrics on / off", "different weights", 0, len(hashes) - 1, 0)], hashes, statistics.median(times["off"])


def line_rows(bench, of_step_ms):
    """What writing a line of metrics.jsonl costs, as a share of a step without metrics."""
    cost = json.loads(run([bench, "metrics"]))
    return [row("metrics.jsonl", f"{threads.replace('_', ' ')}, % of a step", 0.0,
                100.0 * cost[f"{threads}_us"] / (1e3 * of_step_ms), 0.1)
            for threads in ("training_thread", "all_threads")]


def mean_of_longest(segment):
    return statistics.mean(max(step) for step in zip(*segment["step_ms"]))


def control_rows(folder, hashes):
    record = train(folder / "control", "measure.contention=on", "measure.control_pairs=6",
                   "measure.control_steps=40")
    off = [mean_of_longest(segment) for segment in record["control"]["segments"] if not segment["all_reduce"]]
    changes = [abs(b / a - 1.0) for a, b in zip(off[::2], off[1::2])]
    return [row("control run", "different weights", 0, len(hashes | {record["parameter_hash"]}) - 1, 0),
            row("control run", "T_off repeated, median change", 0.0, statistics.median(changes), 0.01)]


def text(value):
    return "n/a" if value is None else f"{value:.4f}"


def table(rows):
    lines = ["| proof | quantity | expected | measured | tolerance | holds |",
             "| ----- | -------- | -------: | -------: | --------: | ----- |"]
    for r in rows:
        cells = [r["proof"], r["quantity"], text(r["expected"]), text(r["measured"]), f"± {r['tolerance']:.3f}",
                 "yes" if r["holds"] else "**no**"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build directory with meter_bench")
    parser.add_argument("--repeats", type=int, default=5, help="pairs of runs with metrics off and on")
    parser.add_argument("--cuda", action="store_true", help="prove the exposed time on a GPU as well")
    parser.add_argument("--only-cuda", action="store_true", help="prove the exposed time on a GPU, and nothing else")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    arguments = parser.parse_args()
    bench = ROOT / arguments.build / "benchmarks" / "meter" / "meter_bench"
    rows = []
    if arguments.cuda or arguments.only_cuda:
        rows += [json.loads(line) for line in run([bench, "cuda"]).splitlines()]
    if not arguments.only_cuda:
        rows += [json.loads(line) for line in run([bench]).splitlines()]
        rows += [json.loads(line) for line in run([*MPIRUN, bench]).splitlines()]
        with tempfile.TemporaryDirectory() as folder:
            measured, hashes, of_step_ms = metrics_rows(Path(folder), arguments.repeats)
            rows += measured + line_rows(bench, of_step_ms) + control_rows(Path(folder), hashes)
    print(table(rows))
    if arguments.out:
        result = {"benchmark": "meter",
                  "command": " ".join(["benchmarks/meter/meter.py", *sys.argv[1:]]),
                  "rows": rows}
        arguments.out.write_text(json.dumps(result, indent=2) + "\n")
    return 0 if all(r["holds"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

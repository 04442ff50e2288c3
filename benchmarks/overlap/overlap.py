#!/usr/bin/env python3
"""What grouping and overlap of the gradient exchange are worth on a paced link, step by step.

Trains benchmarks/overlap/overlap.yaml three ways, repeats interleaved and in alternating order so that a drift
of the machine falls on all alike:

  naive            every tensor by itself, after the backward pass
  bucketed, after  a few buckets, after the backward pass
  overlapped       the same buckets, each as soon as it is complete

Prints a table, writes JSON, and exits 1 unless both the exposed communication and the step time fall from each
way to the next. Run it from anywhere, with ./trainer built:

  benchmarks/overlap/overlap.py [--ranks 2] [--repeats 5]
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
CONFIG = ROOT / "benchmarks" / "overlap" / "overlap.yaml"
WAYS = {
    "naive": ["comm.grouping=per_tensor", "comm.schedule=after"],
    "bucketed, after": ["comm.grouping=bucketed", "comm.schedule=after"],
    "overlapped": ["comm.grouping=bucketed", "comm.schedule=overlapped"],
}
QUANTITIES = ["step_ms", "exposed_ms", "comm_busy_ms"]


def trainer_command(way, ranks, out):
    command = ["mpirun", "-np", str(ranks), "--oversubscribe", "--bind-to", "none", "./trainer",
               "--config", str(CONFIG.relative_to(ROOT))]
    for assignment in WAYS[way]:
        command += ["--set", assignment]
    return command + ["--out", str(out)]


def train(way, ranks, out):
    """One run; returns its record."""
    environment = dict(os.environ)
    if os.geteuid() == 0:  # mpirun wants to hear it from root
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(trainer_command(way, ranks, out), cwd=ROOT, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{way}: the trainer ended with {done.returncode}\n{done.stderr}")
    return json.loads((out / "record.json").read_text())


def measure(record):
    """Medians over the measured steps; of each step the rank that needed longest counts."""
    numbers = {}
    for quantity in QUANTITIES:
        by_rank = [rank[quantity][record["warmup_steps"]:] for rank in record["timing"]]
        numbers[quantity] = statistics.median(max(step) for step in zip(*by_rank))
    return numbers


def spread(repeats, quantity):
    values = [numbers[quantity] for numbers in repeats]
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def table(results):
    lines = ["| way | buckets | step ms | exposed ms | communication busy ms | images/s |",
             "| --- | ------: | ------: | ---------: | --------------------: | -------: |"]
    for way, result in results.items():
        cells = ["{median:.2f} ({min:.2f}–{max:.2f})".format(**result[quantity]) for quantity in QUANTITIES]
        rate = result["global_batch"] / result["step_ms"]["median"] * 1e3
        lines.append(f"| {way} | {result['buckets']} | " + " | ".join(cells) + f" | {rate:.0f} |")
    return "\n".join(lines)


def falls(results, quantity):
    medians = [result[quantity]["median"] for result in results.values()]
    return all(later < earlier for earlier, later in zip(medians, medians[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "overlap_cpu.json")
    arguments = parser.parse_args()

    runs = {way: [] for way in WAYS}
    records = {}  # the latest of each way
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(arguments.repeats):
            for way in list(WAYS) if repeat % 2 == 0 else reversed(WAYS):
                print(f"repeat {repeat + 1} of {arguments.repeats}: {way}", file=sys.stderr, flush=True)
                records[way] = train(way, arguments.ranks, Path(folder))
                runs[way].append(measure(records[way]))
    results = {}
    for way, repeats in runs.items():
        results[way] = {"set": WAYS[way], "buckets": len(records[way]["buckets"]),
                        "global_batch": records[way]["batch"]["global"]}
        results[way] |= {quantity: spread(repeats, quantity) for quantity in QUANTITIES}
        results[way]["repeats"] = repeats
    record = records["overlapped"]

    passed = all(falls(results, quantity) for quantity in ["step_ms", "exposed_ms"])
    report = {
        "benchmark": "overlap",
        "command": f"benchmarks/overlap/overlap.py --ranks {arguments.ranks} --repeats {arguments.repeats}",
        "runs": {way: " ".join(trainer_command(way, arguments.ranks, Path("OUT"))) for way in WAYS},
        "date": record["started"],
        "program": record["program"],
        "versions": record["versions"],
        "processor": record["hosts"][0]["processor"],
        "cores": record["hosts"][0]["cores"],
        "world_size": record["world_size"],
        "model": record["model"],
        "link": {key: record["link"][key] for key in ("asked", "description", "transport_found", "paced")},
        "measured_steps_per_run": len(record["timing"][0]["step_ms"]) - record["warmup_steps"],
        "statistic": "per run the median over steps of the slowest rank; here median, min and max over repeats",
        "results": results,
        "passed": passed,
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    print(f"{record['link']['description']}, {record['model']['bytes']:,} bytes of gradient per step\n")
    print(table(results))
    print(f"\n{'PASS' if passed else 'FAIL'}: exposed communication and step time, "
          "overlapped < bucketed, after < naive")
    print(f"written to {arguments.out}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())

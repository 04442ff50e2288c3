#!/usr/bin/env python3
"""Makes one JSON file and one table of what run_bouts.py and the stages of scripts/gpu_check.sh left.

    benchmarks/end_to_end/collect.py BOUTS_DIR --out results.json

A round's step time is the median over its timed steps; ratios and costs are taken within a round, and their medians over
the rounds are printed with the range. Shares of communication are sums over steps: of what the compute stream waited,
over what the steps took. The cost of a link is what a step takes longer than the same cell without one; contention is the
part of the cost that was not waited for (docs/measuring.md).
"""

import argparse
import csv
import json
import math
import statistics
import sys
import xml.etree.ElementTree as ElementTree
from datetime import datetime, timezone
from pathlib import Path

from cells import ROOT, Bout, Cell, bouts

SCHEMA = "tandem.gpu_check/2"
EMULATED = "emulated link, contention not validated"
STUDENT_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}  # two-sided 95 % by degrees of freedom


def utc_now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def spread(samples):
    deciles = statistics.quantiles(samples, n=10) if len(samples) > 1 else [samples[0]] * 9
    return {
        "median": statistics.median(samples),
        "p10": deciles[0],
        "p90": deciles[-1],
        "mean": statistics.fmean(samples),
        "steps": len(samples),
    }


def over_rounds(samples):
    """Median, range, and the 95 % confidence interval of the geometric mean where there are rounds enough for one."""
    found = {"median": statistics.median(samples), "min": min(samples), "max": max(samples), "rounds": samples}
    freedom = len(samples) - 1
    if freedom in STUDENT_95 and min(samples) > 0:
        logs = [math.log(sample) for sample in samples]
        half = STUDENT_95[freedom] * statistics.stdev(logs) / math.sqrt(len(logs))
        found["confidence_95"] = [math.exp(statistics.fmean(logs) + sign * half) for sign in (-1, 1)]
    return found


def is_number(sample):
    return isinstance(sample, (int, float))


def counted(rank, quantity, warmup):
    """The samples of a quantity after warm-up, and the steps they belong to; what was not recorded is null."""
    pairs = zip(rank[quantity][warmup:], rank["step_ms"][warmup:])
    return [(sample, step) for sample, step in pairs if is_number(sample) and is_number(step)]


def share(rank, quantity, warmup):
    pairs = counted(rank, quantity, warmup)
    return sum(sample for sample, _ in pairs) / sum(step for _, step in pairs) if pairs else None


def tandem_round(cell, folder):
    """Of a run record (docs/run_record.md). With several ranks, a step is over when all have finished it."""
    record = json.loads((folder / "record.json").read_text())
    if not record["timing"]:
        raise ValueError("the record holds no timing")
    ranks, warmup = record["timing"], record["warmup_steps"]
    steps = [max(times) for times in zip(*(rank["step_ms"][warmup:] for rank in ranks)) if all(map(is_number, times))]
    step_ms = spread(steps)
    samples = record["batch"]["micro"] * record["batch"]["accumulation"] * len(ranks)
    losses = record["losses"]
    return {
        "step_ms": step_ms,
        "items_per_s": samples * cell.items_per_sample * 1000.0 / step_ms["median"],
        "shares": {
            quantity: share(ranks[0], f"{quantity}_ms", warmup)
            for quantity in ("data_wait", "forward", "backward", "optimizer", "comm_busy", "exposed", "other")
        },
        "parameters": record["model"]["parameters"],
        "start_s": sum(phase["ms"] for phase in record["startup"]) / 1000.0,
        "startup": record["startup"],
        "last_loss": losses[-1]["loss"] if losses else None,
        "link_record": record["link"],
        "versions": record["versions"],
        "notes": record["notes"],
    }


def peer_round(folder):
    found = json.loads((folder / "result.json").read_text())
    return {
        "step_ms": found["step_ms"] | {"steps": found["steps"]},
        "items_per_s": found["items_per_s"],
        "parameters": found["parameters"],
        "start_s": found["first_step_s"],
        "peak_allocated_bytes": found["peak_allocated_bytes"],
        "peak_reserved_bytes": found["peak_reserved_bytes"],
        "last_loss": found["last_loss"],
        "versions": found["versions"],
    }


def sensor_summary(path):
    """Power and clock while the GPU worked."""
    if not path.exists():
        return None
    rows = []
    for row in csv.reader(path.read_text(errors="replace").splitlines()):
        try:
            rows.append([float(value) for value in row])
        except ValueError:
            continue  # the sampler was ended within a line, or a sensor is not available
    rows = [row for row in rows if len(row) == 3]
    if not rows:
        return None
    busy = [row for row in rows if row[0] >= 0.7 * max(row[0] for row in rows)]
    return {
        "power_w": statistics.median(row[0] for row in busy),
        "sm_clock_mhz": statistics.median(row[1] for row in busy),
        "temperature_c": max(row[2] for row in rows),
    }


def last_line(folder):
    """What a failed contender said last."""
    for name in ("stderr.txt", "stdout.txt"):
        path = folder / name
        lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
        errors = [line for line in lines if line.startswith("error:")]
        if errors or lines:
            return (errors or lines)[-1].strip()[:300]
    return "it said nothing"


def round_result(cell, folder):
    """Of one round; status "ok", or what went wrong, with the reason."""
    found = json.loads((folder / "run.json").read_text())
    found["sensors"] = sensor_summary(folder / "sensors.csv")
    if found["status"] != "ok":
        # A peer's words of all rounds are in one file.
        return found | {"reason": last_line(folder.parent if cell.contender == "peer" else folder)}
    try:
        return found | (tandem_round(cell, folder) if cell.contender == "tandem" else peer_round(folder))
    except (OSError, ValueError, KeyError, IndexError, statistics.StatisticsError) as error:
        return found | {"status": "failed", "reason": f"no result to read: {type(error).__name__}: {error}"}


def cell_result(cell: Cell, folder: Path):
    found = {
        "name": cell.name,
        "contender": cell.contender,
        "item": cell.item,
        "mode": cell.mode,
        "attention": cell.attention,
        "hook": cell.hook,
        "gpus": cell.gpus,
        "link": cell.link,
        "stands_for": cell.stands_for,
        "clip": cell.clip,
        "status": "ok",
    }
    if (folder / "run.json").exists():  # of the resident peer, before its first round
        begun = json.loads((folder / "run.json").read_text())
        found |= begun if begun["status"] == "ok" else begun | {"reason": last_line(folder), "rounds": []}
    rounds = [round_result(cell, path.parent) for path in sorted(folder.glob("round*/run.json"))]
    found["rounds"] = rounds
    broken = [one for one in rounds if one["status"] != "ok"]
    if broken:
        found |= {"status": broken[0]["status"], "reason": broken[0]["reason"]}
    elif not rounds and found["status"] == "ok":
        found |= {"status": "missing", "reason": "not started"}
    return found


def finished(cell):
    """The rounds that count, by number: a cell that failed later keeps those before."""
    return {number: one for number, one in enumerate(cell["rounds"]) if one["status"] == "ok"}


def paired(cell, other, of):
    """of(round, other's round), over the rounds that both finished."""
    mine, others = finished(cell), finished(other)
    samples = [of(mine[number], others[number]) for number in sorted(mine.keys() & others.keys())]
    return over_rounds(samples) if samples else None


def median_ms(one):
    return one["step_ms"]["median"]


def row_of(cell, peer, alone):
    """One of Tandem's cells beside the peer, and, with an emulated link, beside itself without."""
    rounds = finished(cell).values()
    row = {
        "name": cell["name"],
        "step_ms": over_rounds([median_ms(one) for one in rounds]),
        "items_per_s": statistics.median(one["items_per_s"] for one in rounds),
        "item": cell["item"],
        "exposed_share": None,
        "caveats": [EMULATED] if cell["stands_for"] > 1 else [],
    }
    if cell["link"]:
        row["exposed_share"] = statistics.median(one["shares"]["exposed"] or 0.0 for one in rounds)
    if peer and finished(peer) and not cell["stands_for"] > 1:
        theirs = finished(peer).values()
        row |= {"peer": peer["name"], "peer_step_ms": over_rounds([median_ms(one) for one in theirs])}
        row["ratio"] = paired(cell, peer, lambda mine, other: median_ms(other) / median_ms(mine))
        row["same_parameters"] = next(iter(theirs))["parameters"] == next(iter(rounds))["parameters"]
    if alone and cell["stands_for"] > 1:
        cost = paired(cell, alone, lambda mine, other: 1.0 - median_ms(other) / median_ms(mine))
        row["link_cost_share"] = cost
        row["contention_share"] = paired(
            cell, alone, lambda mine, other: 1.0 - median_ms(other) / median_ms(mine) - (mine["shares"]["exposed"] or 0.0))
    return row


def comparisons(cells):
    """One row for each of a bout's Tandem cells that ran."""
    ran = [cell for cell in cells if finished(cell)]
    peer = next((cell for cell in ran if cell["contender"] == "peer"), None)
    alone = next((cell for cell in ran if cell["contender"] == "tandem" and cell["stands_for"] == 1), None)
    return [row_of(cell, peer, alone) for cell in ran if cell["contender"] == "tandem"]


def bout_result(bout: Bout, folder: Path):
    found = {"name": bout.name, "work": bout.cells[0].work, "batch": bout.cells[0].batch, "rounds": bout.rounds}
    if not (folder / "bout.json").exists():
        return found | {"status": "missing", "cells": [], "comparisons": []}
    found |= json.loads((folder / "bout.json").read_text())
    cells = [cell_result(cell, folder / cell.name) for cell in bout.cells]
    complete = all(cell["status"] == "ok" and len(cell["rounds"]) == bout.rounds for cell in cells)
    return found | {"status": "ok" if complete else "incomplete", "cells": cells, "comparisons": comparisons(cells)}


def stage_results(directory):
    """Of stages.tsv: name, status, seconds."""
    path = directory / "stages.tsv"
    rows = [line.split("\t") for line in path.read_text().splitlines()] if path.exists() else []
    return [{"name": name, "status": status, "seconds": float(seconds)} for name, status, seconds in rows]


def test_results(directory):
    """Of ctest's JUnit files."""
    files = sorted(directory.glob("tests-*.xml"))
    if not files:
        return None
    cases = [case for file in files for case in ElementTree.parse(file).getroot().iter("testcase")]
    failed = [case.get("name") for case in cases if case.get("status") == "fail"]
    skipped = [case.get("name") for case in cases if case.get("status") in ("notrun", "disabled")]
    return {"run": len(cases) - len(skipped), "failed": failed, "skipped": skipped}


def measured(directory):
    """What other stages left: a JSON file for each thing that they measured."""
    found = {}
    for path in sorted((directory / "measured").glob("*.json")):
        try:
            found[path.stem] = json.loads(path.read_text())
        except ValueError as error:  # its stage was ended while it wrote
            found[path.stem] = {"unreadable": str(error)}
    return found


def read_earlier(path):
    if path is None:
        return {"stages": [], "tests": None, "measured": {}, "bouts": []}
    found = json.loads(path.read_text())
    if found["schema"] != SCHEMA:
        raise ValueError(f"{path} has schema {found['schema']}, not {SCHEMA}")
    return found


def by_name(rows):
    return {row["name"]: row for row in rows}


def results(directory, gpus, earlier=None):
    before = read_earlier(earlier)
    earlier_bouts = by_name(before["bouts"])
    found = [bout_result(bout, directory / bout.name) for bout in bouts(gpus)]
    return {
        "schema": SCHEMA,
        "written": utc_now(),
        "gpus": gpus,
        "stages": list((by_name(before["stages"]) | by_name(stage_results(directory))).values()),
        "tests": test_results(directory) or before["tests"],
        "measured": before["measured"] | measured(directory),
        "bouts": [earlier_bouts.get(one["name"], one) if one["status"] == "missing" else one for one in found],
    }


def write_results(directory, out, gpus, earlier=None):
    found = results(directory, gpus, earlier)
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_suffix(".tmp")
    # Commands name programs and files of this tree; where the tree lies concerns nobody.
    part.write_text(json.dumps(found, indent=1).replace(f"{ROOT}/", "") + "\n")
    part.replace(out)
    return found


def percent(value):
    return "" if value is None else f"{100.0 * value:.1f} %"


def ratio_text(ratio):
    """Differences under one per cent are worth nothing without their confidence interval."""
    text = f"{ratio['median']:.3f} ({ratio['min']:.3f}-{ratio['max']:.3f})"
    if abs(ratio["median"] - 1.0) < 0.01 and "confidence_95" in ratio:
        text += " 95 %: {:.3f}-{:.3f}".format(*ratio["confidence_95"])
    return text


def table(found):
    head = ["Tandem", "ms", "items/s", "peer", "ms", "ratio", "exposed", "contention", ""]
    rows = []
    for row in (row for bout in found["bouts"] for row in bout["comparisons"]):
        peer = row.get("peer")
        mine = row["name"].removeprefix("tandem.")
        caveats = row["caveats"] + ([] if row.get("same_parameters", True) else ["other model"])
        contention = row.get("contention_share")
        rows.append([
            mine,
            f"{row['step_ms']['median']:.2f}",
            f"{row['items_per_s']:,.0f} {'img' if row['item'] == 'images' else 'tok'}",
            peer.removeprefix("peer." + mine + ".") if peer else "",
            f"{row['peer_step_ms']['median']:.2f}" if peer else "",
            ratio_text(row["ratio"]) if peer and row["ratio"] else "",
            percent(row["exposed_share"]),
            percent(contention["median"] if contention else None),
            ", ".join(caveats),
        ])
    widths = [max(len(line[column]) for line in [head, *rows]) for column in range(len(head))]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in [head, *rows]]


def summary(found):
    lines = [f"{stage['name']}: {stage['status']} ({stage['seconds']:.0f} s)" for stage in found["stages"]]
    if found["tests"]:
        tests = found["tests"]
        lines.append(f"tests: {tests['run']} run, {len(tests['failed'])} failed, {len(tests['skipped'])} skipped")
        lines += [f"  failed: {name}" for name in tests["failed"]]
    lines += [
        f"{cell['status']}: {bout['name']}: {cell['name']}: {cell['reason']}"
        for bout in found["bouts"]
        for cell in bout["cells"]
        if cell["status"] != "ok"
    ]
    missing = [bout["name"] for bout in found["bouts"] if bout["status"] == "missing"]
    if missing:
        lines.append(f"missing: {' '.join(missing)}")
    return "\n".join([*lines, "", *table(found)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="the --dir of run_bouts.py")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file")
    parser.add_argument("--gpus", type=int, default=1, help="as run_bouts.py's")
    parser.add_argument("--earlier", type=Path, help="an earlier JSON file, for the bouts that this one lacks")
    options = parser.parse_args()
    if not options.directory.is_dir():
        sys.exit(f"collect.py: {options.directory} is no folder")
    print(summary(write_results(options.directory, options.out, options.gpus, options.earlier)))


if __name__ == "__main__":
    main()

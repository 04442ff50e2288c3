#!/usr/bin/env python3
"""The tables of README.md and docs/performance.md out of a result of scripts/gpu_check.sh, as Markdown.

    benchmarks/end_to_end/tables.py benchmarks/results/gpu_2026-12-01.json [bouts] [links] [kernels]

bouts: Tandem beside the peer; links: what an emulated link costs; kernels: where a step without a link goes. All, unless
some are named.
"""

import argparse
import json
import sys
from pathlib import Path

from collect import ratio_text


def markdown(head, rows, left=1):
    """The first columns are text, the others numbers."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *rows])


def with_range(found, digits):
    return f"{found['median']:.{digits}f} ({found['min']:.{digits}f}–{found['max']:.{digits}f})"


def name_of(row):
    return row["name"].removeprefix("tandem.")


def bouts(found):
    rows = []
    for row in (row for bout in found["bouts"] for row in bout["comparisons"] if row.get("peer")):
        unit = "images" if row["item"] == "images" else "tokens"
        mode = row["peer"].removeprefix(f"peer.{name_of(row)}.")
        rows.append([name_of(row), mode, with_range(row["step_ms"], 2), with_range(row["peer_step_ms"], 2),
                     f"{row['items_per_s']:,.0f} {unit}", ratio_text(row["ratio"]), str(len(row["ratio"]["rounds"]))])
    head = ["work", "PyTorch's mode", "step ms", "PyTorch's step ms", "per second", "ratio", "rounds"]
    return markdown(head, rows, left=2)


def links(found):
    rows = []
    for name, comparison in found["measured"].items():
        if not name.startswith("emulated_") or "rows" not in comparison:
            continue
        for row in comparison["rows"]:
            speedup = row["speedup"]
            rows.append([comparison["model"]["name"], f"{row['label']}, emulated, {comparison['ranks_in_all_reduce']} ranks",
                         with_range(row["epoch_s"], 1), f"{row['items_per_s']['median']:,.0f}",
                         f"{100 * row['exposed_share']['median']:.1f}", f"{100 * row['busy_share']['median']:.1f}",
                         with_range(speedup, 2) if speedup else ""])
    head = ["work", "link", "epoch s, extrapolated", "per second and rank", "exposed %", "busy %", "speedup"]
    return markdown(head, rows, left=2)


def kernels(found):
    tables = []
    for name, trace in found["measured"].items():
        if not name.startswith("kernels_") or "parts" not in trace or "agrees" in trace:  # with a link, it is compared
            continue
        rows = [[part["part"], f"{part['kernels']:.0f}", f"{part['ms']:.2f}", f"{100 * part['share']:.1f}"]
                for part in trace["parts"] if part["ms"] >= 0.005]
        rows.append(["**step**", "", f"{trace['step_ms']:.2f}", "100.0"])
        tables.append(f"{name.removeprefix('kernels_')}:\n\n" + markdown(["part", "kernels", "ms", "share %"], rows))
    return "\n\n".join(tables)


TABLES = {"bouts": bouts, "links": links, "kernels": kernels}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path, help="the JSON file")
    parser.add_argument("table", nargs="*", help="bouts, links, kernels")
    options = parser.parse_args()
    unknown = [name for name in options.table if name not in TABLES]
    if unknown:
        parser.error(f"no table '{unknown[0]}'; there are {', '.join(TABLES)}")
    try:
        found = json.loads(options.result.read_text())
    except (OSError, ValueError) as error:
        sys.exit(f"tables.py: {options.result}: {error}")
    print("\n\n".join(TABLES[name](found) for name in options.table or TABLES))


if __name__ == "__main__":
    main()

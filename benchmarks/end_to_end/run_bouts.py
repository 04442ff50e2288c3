#!/usr/bin/env python3
"""Runs bouts one after another, most wanted first, until the budget is spent.

    benchmarks/end_to_end/run_bouts.py --dir build/bouts --out results.json --bouts 'resnet50.*,gpt2*' --budget 300

In a bout the contenders on one work take turns for some rounds. Tandem is started anew for every round; the peer, which
compiles for a minute, stays and is asked for its rounds. Each has a process group and a deadline of its own, so one that
fails or hangs costs nothing but its time. After every round the results so far are written, those of earlier calls with
the same --dir included. A cell that fails is a result; the exit status says only whether the bouts could be run.
"""

import argparse
import contextlib
import fnmatch
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import collect
from cells import ROOT, bouts
from resident import GRACE_S, NoAnswer, Resident, end_group

ROUND_S = 90  # that a round may take, Tandem's start included
COMPILE_S = 200  # that the peer may take until it is warm
LEAST_S = 15  # less than this is not worth a start
SENSORS = "power.draw,clocks.sm,temperature.gpu"


@contextlib.contextmanager
def sensors(path):
    """Samples the GPU into a CSV file, where nvidia-smi is."""
    if shutil.which("nvidia-smi") is None:
        yield
        return
    line = ["nvidia-smi", f"--query-gpu={SENSORS}", "--format=csv,noheader,nounits", "--loop-ms=500", "--id=0"]
    line.append(f"--filename={path}")
    sampler = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        sampler.terminate()
        sampler.wait()


def run_command(line, folder, timeout_s):
    """Raises NoAnswer unless it succeeds."""
    with open(folder / "stdout.txt", "wb") as out, open(folder / "stderr.txt", "wb") as err:
        try:
            process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=err, process_group=0)
        except OSError as error:
            err.write(f"{error}\n".encode())
            raise NoAnswer("failed") from None
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise NoAnswer("timeout") from None
        finally:
            end_group(process)
    if status != 0:
        raise NoAnswer("failed")


class BoutRun:
    """One bout: its folder, its deadline, and what became of its cells."""

    def __init__(self, bout, options, end):
        self.bout = bout
        self.options = options
        self.end = end
        self.folder = options.dir / bout.name
        self.broken = set()  # cells that failed: they get no more rounds

    def run(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / "bout.json").write_text(json.dumps({"started": collect.utc_now()}))
        with contextlib.ExitStack() as stack:
            residents = {cell: self.begin(cell, stack) for cell in self.bout.cells if cell.contender == "peer"}
            for number in range(self.bout.rounds):
                # To and fro, so that a drift within a round favours nobody.
                for cell in self.bout.cells[:: 1 if number % 2 == 0 else -1]:
                    self.round(cell, number, residents.get(cell))
                    collect.write_results(self.options.dir, self.options.out, self.options.gpus, self.options.earlier)

    def left(self, wanted):
        left = min(wanted, self.end - time.monotonic() - GRACE_S)
        if left < LEAST_S:
            raise NoAnswer("budget spent")
        return left

    def begin(self, cell, stack):
        folder = self.folder / cell.name
        folder.mkdir()
        line = cell.command(self.options.programs, folder)
        begin = time.monotonic()
        try:
            left = self.left(COMPILE_S)
            resident = stack.enter_context(Resident(line, folder, cell.environment()))
            resident.ready(left)
        except (OSError, NoAnswer) as problem:
            self.fail(cell, folder, line, problem)
            return None
        self.note(folder, command=line, status="ok", ready_s=round(time.monotonic() - begin, 1))
        return resident

    def round(self, cell, number, resident):
        if cell in self.broken:
            return
        folder = self.folder / cell.name / f"round{number + 1}"
        folder.mkdir(parents=True)
        begin = time.monotonic()
        line = None
        try:
            left = self.left(ROUND_S)
            with sensors(folder / "sensors.csv"):
                if cell.contender == "peer":
                    (folder / "result.json").write_text(json.dumps(resident.round(left)))
                else:
                    line = cell.command(self.options.programs, folder)
                    run_command(line, folder, left)
        except NoAnswer as problem:
            self.fail(cell, folder, line, problem)
            return
        self.note(folder, command=line, status="ok", seconds=round(time.monotonic() - begin, 1))

    def fail(self, cell, folder, line, problem):
        self.broken.add(cell)
        if isinstance(problem, OSError):
            (folder / "stderr.txt").write_text(f"{problem}\n")
        self.note(folder, command=line, status="failed" if isinstance(problem, OSError) else problem.args[0])

    def note(self, folder, command, status, **more):
        """What collect.py reads."""
        fact = {"status": status, **({"command": command} if command else {}), **more}
        (folder / "run.json").write_text(json.dumps(fact, indent=1))
        print(f"{status:8} {more.get('seconds', more.get('ready_s', 0)):6.1f} s  {folder.relative_to(self.options.dir)}",
              flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, help="folder of the bouts' files")
    parser.add_argument("--out", type=Path, help="the JSON file of all results")
    parser.add_argument("--earlier", type=Path, help="an earlier JSON file, for the bouts that this one lacks")
    parser.add_argument("--programs", type=Path, default=ROOT, help="folder of trainer and launcher (default: this tree)")
    parser.add_argument("--gpus", type=int, default=1, help="GPUs, and ranks, of every contender (default: 1)")
    parser.add_argument("--bouts", default="*", help="patterns of names, separated by commas")
    parser.add_argument("--budget", type=float, default=540, help="seconds for all bouts together")
    parser.add_argument("--list", action="store_true", help="print the names of the chosen bouts and end")
    options = parser.parse_args()
    patterns = options.bouts.split(",")
    options.chosen = [b for b in bouts(options.gpus) if any(fnmatch.fnmatchcase(b.name, p) for p in patterns)]
    if not options.chosen:
        parser.error(f"--bouts {options.bouts}: no bout has such a name; --list prints them all")
    if not options.list and not (options.dir and options.out):
        parser.error("--dir and --out are needed")
    return options


def main():
    options = parse_arguments()
    if options.list:
        print("\n".join(bout.name for bout in options.chosen))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("run_bouts.py: ended by a signal"))
    end = time.monotonic() + options.budget
    for bout in options.chosen:
        if end - time.monotonic() < GRACE_S + LEAST_S:
            print(f"budget spent before {bout.name}", flush=True)
            break
        BoutRun(bout, options, end).run()


if __name__ == "__main__":
    main()

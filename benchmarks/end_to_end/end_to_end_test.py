#!/usr/bin/env python3
"""Tests of run_bouts.py and collect.py, with programs that do not train."""

import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import collect
from cells import PEER, ROOT, bouts

HERE = Path(__file__).resolve().parent

# Steps of 40 ms, with a link of 44 ms, of which 2.2 ms are waited for.
FAKE_TRAINER = """#!/usr/bin/env python3
import json, pathlib, sys, time
arguments = sys.argv[1:]
out = pathlib.Path(arguments[arguments.index("--out") + 1])
if "b32" in str(out):
    print("error: no GPU to be had", file=sys.stderr)
    print("  where:    device.kind", file=sys.stderr)
    sys.exit(2)
if "resnet152" in str(out):
    time.sleep(600)
emulated = "comm.backend=emulated" in arguments
step = 44.0 if emulated else 40.0
rank = {"rank": 0, "step_ms": [900.0] * 20 + [step] * 100}
for quantity in ("data_wait", "forward", "backward", "comm_busy", "optimizer", "other"):
    rank[quantity + "_ms"] = [None] * 20 + [1.0] * 100
rank["exposed_ms"] = [None] * 20 + [2.2 if emulated else 0.0] * 100
record = {
    "timing": [rank], "warmup_steps": 20, "batch": {"micro": 256, "accumulation": 1},
    "losses": [{"step": 119, "loss": 6.9}], "model": {"parameters": 25557032},
    "startup": [{"phase": "data", "ms": 1500.0}], "link": {}, "versions": {}, "notes": [],
}
out.joinpath("record.json").write_text(json.dumps(record))
"""

# Stands for `python3 torch_ddp.py --resident …`: rounds of 50 ms, 52 ms, 54 ms; with GPT-2, one round and then its end.
FAKE_PYTHON = """#!{python}
import json, sys
if not sys.argv[1].endswith("torch_ddp.py"):
    sys.exit("an unexpected program: " + sys.argv[1])
if "gpt3_1.3b" in sys.argv:
    sys.exit("torch_ddp.py: PyTorch finds no GPU")
print("a library's chatter", flush=True)
print(json.dumps({{"ready": True}}), flush=True)
for number, _ in enumerate(sys.stdin):
    if "gpt2_124m" in sys.argv and number == 1:
        sys.exit("out of memory")
    median = 50.0 + 2.0 * number
    print("[1, 2]", flush=True)
    print(json.dumps({{
        "step_ms": {{"median": median, "p10": median, "p90": median, "mean": median}}, "steps": 50, "versions": {{}},
        "items_per_s": 256000.0 / median, "parameters": 25557032 if "resnet50" in sys.argv else 1,
        "first_step_s": 60.0, "last_loss": 6.9, "peak_allocated_bytes": 1, "peak_reserved_bytes": 2,
    }}), flush=True)
"""


class CellsTest(unittest.TestCase):
    def test_names_are_unique_and_are_plain_folders(self):
        for gpus in (1, 2, 8):
            names = [bout.name for bout in bouts(gpus)]
            self.assertEqual(len(names), len(set(names)))
            for bout in bouts(gpus):
                cells = [cell.name for cell in bout.cells]
                self.assertEqual(len(cells), len(set(cells)))
                self.assertFalse([name for name in (bout.name, *cells) if "/" in name])

    def test_a_bout_is_about_one_work_and_has_one_peer_at_most(self):
        for bout in bouts(1) + bouts(2):
            self.assertEqual(len({(cell.work, cell.batch, cell.clip) for cell in bout.cells}), 1)
            self.assertLessEqual(len([cell for cell in bout.cells if cell.contender == "peer"]), 1)
            self.assertEqual(bout.cells[0].contender, "tandem")

    def test_every_config_and_the_peer_exist(self):
        self.assertTrue(PEER.exists())
        for bout in bouts(1):
            line = bout.cells[0].command(Path("programs"), "out")
            self.assertTrue((ROOT / "configs" / line[line.index("--config") + 1]).exists(), line)

    def test_on_several_gpus_both_sides_get_the_same_link(self):
        pcie = next(bout for bout in bouts(2) if bout.name == "resnet50.b256.pcie2.vs-default")
        tandem, peer = pcie.cells
        line = tandem.command(Path("programs"), "out")
        self.assertEqual(line[:4], ["programs/launcher", "run", "--ranks", "2"])
        self.assertIn("comm.link=pcie", line)
        self.assertEqual(peer.command(Path("programs"), "out")[:3], ["torchrun", "--standalone", "--nproc-per-node=2"])
        self.assertEqual(peer.environment()["NCCL_P2P_DISABLE"], "1")
        nvlink = next(bout for bout in bouts(2) if bout.name == "resnet50.b256.nvlink2.vs-default")
        self.assertNotIn("NCCL_P2P_DISABLE", nvlink.cells[1].environment())


class RunBoutsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = Path(temporary.name)
        self.programs = self.directory / "programs"
        self.write_program("trainer", FAKE_TRAINER.replace("/usr/bin/env python3", sys.executable))
        self.write_program("python3", FAKE_PYTHON.format(python=sys.executable))
        self.work = self.directory / "work"
        self.work.mkdir()
        self.out = self.directory / "results.json"

    def write_program(self, name, text):
        self.programs.mkdir(exist_ok=True)
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)

    def run_bouts(self, names, budget, *more):
        line = [sys.executable, HERE / "run_bouts.py", "--dir", self.work, "--out", self.out, "--bouts", names]
        line += ["--programs", self.programs, "--budget", str(budget), *more]
        environment = os.environ | {"PATH": f"{self.programs}:{os.environ['PATH']}"}
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(self.out.read_text())
        return {bout["name"]: bout for bout in found["bouts"] if fnmatch.fnmatchcase(bout["name"], names)}

    def test_rounds_alternate_and_ratios_are_taken_within_a_round(self):
        bout = self.run_bouts("resnet50.b256.vs-default", 100)["resnet50.b256.vs-default"]
        self.assertEqual(bout["status"], "ok")
        (row,) = bout["comparisons"]
        self.assertEqual(row["step_ms"]["median"], 40.0)
        self.assertEqual(row["items_per_s"], 6400.0)
        self.assertEqual(row["ratio"]["rounds"], [1.25, 1.3, 1.35])
        self.assertEqual(row["ratio"]["median"], 1.3)
        low, high = row["ratio"]["confidence_95"]
        self.assertAlmostEqual(low, 1.181, places=3)  # of the logarithms, by hand: 0.26187 ± 4.303 · 0.03848 / √3
        self.assertAlmostEqual(high, 1.430, places=3)
        self.assertTrue(row["same_parameters"])
        self.assertIsNone(row["exposed_share"])
        peer = bout["cells"][1]
        self.assertEqual(peer["command"][0], "python3")
        self.assertEqual(len(peer["rounds"]), 3)

    def test_links_are_set_beside_the_cell_without_one(self):
        rows = self.run_bouts("resnet50.b256.links", 100)["resnet50.b256.links"]["comparisons"]
        self.assertEqual(len(rows), 4)
        alone, linked = rows[0], rows[1]
        self.assertEqual(alone["caveats"], [])
        self.assertIn("emulated", linked["caveats"][0])
        self.assertAlmostEqual(linked["exposed_share"], 0.05)
        self.assertAlmostEqual(linked["link_cost_share"]["median"], 1 - 40 / 44)
        self.assertAlmostEqual(linked["contention_share"]["median"], 1 - 40 / 44 - 0.05)

    def test_a_contender_that_fails_leaves_the_other_and_its_own_earlier_rounds(self):
        bout = self.run_bouts("gpt2_124m.b64.vs-default", 100)["gpt2_124m.b64.vs-default"]
        tandem, peer = bout["cells"]
        self.assertEqual((bout["status"], tandem["status"], peer["status"]), ("incomplete", "ok", "failed"))
        self.assertEqual(peer["reason"], "out of memory")
        self.assertEqual(bout["comparisons"][0]["ratio"]["rounds"], [1.25])
        bout = self.run_bouts("gpt3_1_3b.b8.vs-default", 100)["gpt3_1_3b.b8.vs-default"]
        self.assertEqual(bout["cells"][1]["reason"], "torch_ddp.py: PyTorch finds no GPU")
        self.assertNotIn("ratio", bout["comparisons"][0])
        bout = self.run_bouts("resnet50.b32.vs-default", 100)["resnet50.b32.vs-default"]
        self.assertEqual(bout["cells"][0]["reason"], "error: no GPU to be had")
        self.assertEqual(bout["comparisons"], [])

    def test_what_hangs_costs_its_time_only(self):
        begin = time.monotonic()
        names = "resnet152.b128.vs-default,resnet152.b128.vs-reduce-overhead"
        self.run_bouts(names, 26)
        self.assertLess(time.monotonic() - begin, 60)
        found = {bout["name"]: bout for bout in json.loads(self.out.read_text())["bouts"]}
        self.assertEqual(found["resnet152.b128.vs-reduce-overhead"]["cells"][0]["status"], "timeout")
        self.assertEqual(found["resnet152.b128.vs-default"]["status"], "missing")

    def test_an_earlier_file_fills_in_what_is_missing(self):
        self.run_bouts("resnet50.b256.vs-default", 100)
        earlier = self.out.rename(self.directory / "earlier.json")
        self.work = self.directory / "fresh"
        self.work.mkdir()
        self.run_bouts("resnet50.b256.links", 100, "--earlier", earlier)
        found = {bout["name"]: bout["status"] for bout in json.loads(self.out.read_text())["bouts"]}
        self.assertEqual(found["resnet50.b256.vs-default"], "ok")
        self.assertEqual(found["resnet50.b256.links"], "ok")


class CollectTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = Path(temporary.name)

    def leave_round(self, bout, cell, number, result):
        folder = self.directory / bout / cell / f"round{number}"
        folder.mkdir(parents=True)
        (self.directory / bout / "bout.json").write_text("{}")
        (folder / "run.json").write_text('{"status": "ok"}')
        (folder / ("result.json" if cell.startswith("peer") else "record.json")).write_text(result)

    def test_an_unreadable_result_is_a_failure_with_a_reason(self):
        self.leave_round("resnet50.b256.vs-eager", "peer.resnet50.b256.eager", 1, "Killed")
        found = {bout["name"]: bout for bout in collect.results(self.directory, 1)["bouts"]}
        tandem, peer = found["resnet50.b256.vs-eager"]["cells"]
        self.assertEqual(tandem["status"], "missing")
        self.assertEqual(peer["status"], "failed")
        self.assertIn("no result to read", peer["reason"])

    def test_a_step_of_several_ranks_ends_with_the_last(self):
        rank = {"step_ms": [1.0, 5.0, 7.0, 6.0]} | {
            f"{quantity}_ms": [0.0] * 4
            for quantity in ("data_wait", "forward", "backward", "optimizer", "comm_busy", "exposed", "other")}
        record = {"timing": [rank, rank | {"step_ms": [1.0, 6.0, 6.0, 8.0]}], "warmup_steps": 1, "losses": [],
                  "batch": {"micro": 10, "accumulation": 1}, "model": {"parameters": 1}, "startup": [], "link": {},
                  "versions": {}, "notes": []}
        name = "resnet50.b256.nvlink2.vs-default"
        self.leave_round(name, "tandem.resnet50.b256.nvlink2", 1, json.dumps(record))
        found = {bout["name"]: bout for bout in collect.results(self.directory, 2)["bouts"]}
        (one,) = found[name]["cells"][0]["rounds"]
        self.assertEqual(one["step_ms"]["median"], 7.0)
        self.assertAlmostEqual(one["items_per_s"], 20 / 7e-3)

    def test_sensors_are_read_while_the_gpu_works(self):
        path = self.directory / "sensors.csv"
        path.write_text("70.0, 345, 30\n690.0, 1800, 60\n680.0, 1790, 61\n690.0, [N/A], 61\n69")
        self.assertEqual(collect.sensor_summary(path), {"power_w": 685.0, "sm_clock_mhz": 1795.0, "temperature_c": 61.0})

    def test_what_stages_measured_is_kept_from_call_to_call(self):
        (self.directory / "measured").mkdir()
        (self.directory / "measured" / "meter_cuda.json").write_text('{"rows": []}')
        earlier = self.directory / "earlier.json"
        collect.write_results(self.directory, earlier, 1)
        fresh = self.directory / "fresh"
        (fresh / "measured").mkdir(parents=True)
        (fresh / "measured" / "half.json").write_text("{")
        (fresh / "measured" / "links.json").write_text("{}")
        found = collect.results(fresh, 1, earlier)["measured"]
        self.assertIn("unreadable", found.pop("half"))
        self.assertEqual(found, {"meter_cuda": {"rows": []}, "links": {}})

    def test_failed_and_skipped_tests_are_named(self):
        (self.directory / "tests-0.xml").write_text(
            '<testsuite><testcase name="a" status="run"/><testcase name="b" status="fail"/>'
            '<testcase name="c" status="notrun"/></testsuite>')
        self.assertEqual(collect.test_results(self.directory), {"run": 2, "failed": ["b"], "skipped": ["c"]})

    def test_the_summary_names_what_is_missing_and_doubtful(self):
        found = collect.results(self.directory, 1)
        row = {"name": "tandem.resnet50.b256", "step_ms": {"median": 40.0}, "items_per_s": 6400.0, "item": "images",
               "exposed_share": None, "caveats": [], "peer": "peer.resnet50.b256.eager", "same_parameters": False,
               "peer_step_ms": {"median": 40.2}, "ratio": collect.over_rounds([1.004, 1.005, 1.006])}
        found["bouts"][0] |= {"status": "ok", "comparisons": [row]}
        text = collect.summary(found)
        self.assertIn("1.005 (1.004-1.006) 95 %: 1.003-1.007", text)
        self.assertIn("other model", text)
        missing = next(line for line in text.splitlines() if line.startswith("missing: "))
        self.assertIn("gpt3_1_3b.b8.vs-eager", missing)
        self.assertNotIn(found["bouts"][0]["name"] + " ", missing)

    def test_no_result_says_where_the_tree_lies(self):
        (self.directory / "measured").mkdir()
        (self.directory / "measured" / "one.json").write_text(json.dumps({"command": f"{ROOT}/build/bin/trainer --x"}))
        out = self.directory / "out.json"
        collect.write_results(self.directory, out, 1)
        self.assertEqual(json.loads(out.read_text())["measured"]["one"]["command"], "build/bin/trainer --x")


class TablesTest(unittest.TestCase):
    def test_every_stored_result_has_its_tables(self):
        stored = sorted((ROOT / "benchmarks" / "results").glob("gpu_*.json"))
        self.assertTrue(stored)
        for path in stored:
            line = [sys.executable, "-B", str(HERE / "tables.py"), str(path)]
            text = subprocess.run(line, capture_output=True, text=True, check=True).stdout
            self.assertIn("| resnet50.b256 | reduce-overhead |", text)
            self.assertIn("| **step** |", text)
            self.assertIn("emulated, 8 ranks", text)

    def test_an_unknown_table_is_an_error_that_names_it(self):
        line = [sys.executable, "-B", str(HERE / "tables.py"), "x.json", "bout"]
        ended = subprocess.run(line, capture_output=True, text=True)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("no table 'bout'", ended.stderr)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""Tests of kernels.py on a trace written by hand."""

import tempfile
import unittest
from pathlib import Path

import kernels

# Three steps of 1 ms; the first is before what is looked at. Each: a convolution of 400 us, a batch norm of 200 us, a gap
# of 300 us, end_step of 100 us; an all-reduce from 300 to 700 us, alone from 600 on; a copy from 100 to 750 us, alone for
# 50 us; then 150 us of nothing.
STEP = [
    ("kernel", 0, 400, 7, "sm90_xmma_fprop_implicit_gemm_bf16"),
    ("kernel", 400, 600, 7, "void tandem::sum_channels_per_thread<__nv_bfloat16>(__nv_bfloat16 const*)"),
    ("kernel", 300, 700, 9, "tandem::emulated_transfer(tandem::EmulatedTransfer, unsigned long*)"),
    ("copy", 100, 750, 11, "copy"),
    ("kernel", 900, 1000, 7, "tandem::end_step(tandem::TrainingState*)"),
]


def activities():
    return [kernels.Activity(what, (step * 1000 + begin) * 1000, (step * 1000 + end) * 1000, stream, name)
            for step in range(3) for what, begin, end, stream, name in STEP]


class KernelsTest(unittest.TestCase):
    def test_parts_add_up_to_the_step(self):
        found = kernels.analyse(sorted(activities(), key=lambda a: a.begin), 2)
        parts = {row["part"]: (row["kernels"], round(row["ms"], 6)) for row in found["parts"]}
        self.assertEqual(parts, {"convolution": (1, 0.4), "batch norm": (1, 0.2), "optimizer": (1, 0.1),
                                 "all-reduce alone": (0, 0.1), "copies alone": (0, 0.05), "nothing": (0, 0.15)})
        self.assertAlmostEqual(found["step_ms"], 1.0)
        self.assertAlmostEqual(found["exposed_ms"], 0.1)
        self.assertAlmostEqual(found["all_reduce_busy_ms"], 0.4)

    def test_overlapping_kernels_of_a_stream_count_once(self):
        found = activities()
        found.append(kernels.Activity("kernel", 2_350_000, 2_450_000, 7, "nvjet_tst_128x256"))
        found = kernels.analyse(sorted(found, key=lambda a: a.begin), 1)
        parts = {row["part"]: round(row["ms"], 6) for row in found["parts"]}
        self.assertEqual(parts["matrix product"], 0.05)
        self.assertEqual(parts["batch norm"], 0.15)
        self.assertAlmostEqual(found["step_ms"], 1.0)

    def test_too_short_a_trace_is_an_error(self):
        with self.assertRaises(ValueError):
            kernels.analyse(activities(), 3)

    def test_the_meter_must_agree(self):
        found = {"exposed_ms": 1.0, "all_reduce_busy_ms": 10.0}
        self.assertTrue(kernels.agreement(found, {"exposed_ms": 1.29}))
        self.assertFalse(kernels.agreement(found, {"exposed_ms": 1.31}))
        self.assertTrue(kernels.agreement({"exposed_ms": 0.0, "all_reduce_busy_ms": 0.1}, {"exposed_ms": 0.049}))

    def test_a_trace_is_read_as_it_was_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.tsv"
            path.write_text("kernel\t20\t30\t7\ta name (with, commas)\nset\t5\t9\t13\tset\n")
            first, second = kernels.read_trace(path)
        self.assertEqual(first, kernels.Activity("set", 5, 9, 13, "set"))
        self.assertEqual(second.name, "a name (with, commas)")
        self.assertEqual(kernels.class_of(first), "copies")

    def test_every_kernel_of_ours_has_a_class(self):
        sources = [*Path(kernels.ROOT, "framework", "ops", "cuda").glob("*.cu"),
                   *Path(kernels.ROOT, "framework", "comm", "cuda").glob("*.cu")]
        names = [word for source in sources for word in kernels.re.findall(
            r"__global__\s+void\s+(?:__launch_bounds__\([^;{]*?\)\s+)?(\w+)\(", source.read_text())]
        self.assertGreater(len(names), 30)
        tuning = {"fill_random_four_per_thread", "spin_one_thread"}  # before training
        for name in set(names) - tuning:
            found = kernels.class_of(kernels.Activity("kernel", 0, 1, 0, f"tandem::{name}("))
            self.assertNotEqual(found, "other kernels", name)


if __name__ == "__main__":
    unittest.main()

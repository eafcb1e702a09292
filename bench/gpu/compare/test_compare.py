"""What can be tested without a GPU: statistics, the manifest, verdicts, what a dying worker leads to, inputs, ncu's report.

    python3 -m unittest discover -s bench/gpu/compare
"""

from __future__ import annotations

import copy
import json
import math
import random
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "suite"))

import numpy

import build
import card
import compare
import explore
import hot
import inputs
import manifest
import ncu
import stats

MANIFEST = {
    "format": 1,
    "support": {"cubin": "support.cubin"},
    "kernels": {"k": {"cubin": "k.cubin", "entry": "e", "cubin_sha256": "0"}},
    "launches": {
        "k_low": {
            "kernel": "k",
            "launches": 2,
            "sets": [
                {
                    "grid": [1, 1, 1],
                    "block": [32, 1, 1],
                    "shared": 0,
                    "arguments": [
                        {"role": "in", "type": "f2", "count": 7, "fill": {"kind": "normal", "a": 0, "b": 1}, "seed": 1},
                        {"role": "out", "type": "f4", "count": 7},
                        {"role": "scalar", "type": "i4", "value": 7},
                    ],
                }
            ],
        }
    },
}


class Statistics(unittest.TestCase):
    def test_percentiles(self):
        self.assertEqual(stats.percentile([3, 1, 2], 0.5), 2)
        self.assertEqual(stats.percentile([0, 10], 0.05), 0.5)
        self.assertEqual(stats.percentile([4], 0.95), 4)
        with self.assertRaises(ValueError):
            stats.percentile([], 0.5)

    def test_ratios_are_of_the_same_round(self):
        # The clock halves in the second round: the ratio does not notice.
        found = stats.spread(stats.ratios([9, 18, 9], [10, 20, 10]))
        self.assertAlmostEqual(found.median, 0.9)
        self.assertAlmostEqual(found.high, 0.9)
        with self.assertRaises(ValueError):
            stats.ratios([1], [1, 2])

    def test_geomean(self):
        self.assertAlmostEqual(stats.geomean([0.5, 2.0]), 1.0)
        with self.assertRaises(ValueError):
            stats.geomean([])

    def test_every_place_equally_often(self):
        names = ["a", "b", "c"]
        orders = [stats.rotated(names, n) for n in range(6)]
        for place in range(3):
            self.assertEqual(sorted(order[place] for order in orders), ["a", "a", "b", "b", "c", "c"])


class Reading(unittest.TestCase):
    def parse(self, change=lambda data: None):
        data = copy.deepcopy(MANIFEST)
        change(data)
        return manifest.parse(data, Path("manifest.json"))

    def test_reads(self):
        found = self.parse()
        launch = found.launches["k_low"]
        self.assertEqual((launch.entry, launch.cubin, launch.launches), ("e", "k.cubin", 2))
        self.assertEqual([a.size for a in launch.sets[0].arguments], [14, 28, 0])

    def test_selects_by_launch_or_kernel(self):
        found = self.parse()
        for names in (None, ["k"], ["k_low"]):
            self.assertEqual([launch.name for launch in found.select(names)], ["k_low"])
        with self.assertRaises(manifest.ManifestError):
            found.select(["other"])

    def test_refuses(self):
        first = lambda data: data["launches"]["k_low"]["sets"][0]  # noqa: E731
        changes = [
            lambda data: data.update(format=2),
            lambda data: data["kernels"].clear(),
            lambda data: data["launches"]["k_low"].pop("launches"),
            lambda data: first(data)["arguments"][0].update(role="input"),
            lambda data: first(data)["arguments"][0].update(count=0),
            lambda data: first(data)["arguments"][0].update(wrong=0),
            lambda data: first(data)["arguments"][0].pop("fill"),
            lambda data: first(data)["arguments"].pop(1),
        ]
        for number, change in enumerate(changes):
            with self.subTest(number), self.assertRaises(manifest.ManifestError):
                self.parse(change)

    def test_notices_another_original(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "k.cubin").write_bytes(b"other")
            with self.assertRaises(manifest.ManifestError):
                manifest.check_original(self.parse().launches["k_low"], Path(folder))


RESULT = {
    "device": "d",
    "inputs_wrong": [],
    "sets": [
        {"outputs": [], "differences": {}},
        {"outputs": [], "differences": {"bad": [{"argument": 1, "words": 1, "first": 0, "of": 7}]}},
    ],
    "samples": {"original": [10.0, 20.0], "again": [10.0, 20.0], "good": [9.0, 18.0], "late": [8.0, 16.0]},
    "timing_differences": {"late": [{"argument": 1, "words": 2, "first": 3, "of": 7}]},
}


class Verdicts(unittest.TestCase):
    def setUp(self):
        self.names = ["good", "bad", "late", "dead"]
        self.found = compare.judge(RESULT, {"dead": "hang"}, self.names)

    def test_judges(self):
        variants = self.found["variants"]
        self.assertTrue(self.found["deterministic"])
        self.assertEqual({n: v["identical"] for n, v in variants.items()}, {"good": True, "bad": False, "late": False, "dead": False})
        self.assertAlmostEqual(variants["good"]["ratio"]["median"], 0.9)
        self.assertNotIn("ratio", variants["bad"])
        self.assertIn("timing", variants["late"]["differences"])
        self.assertEqual(variants["dead"]["error"], "hang")

    def test_only_right_ones_count(self):
        means = compare.geomeans({"k": self.found}, self.names)
        self.assertEqual(list(means), ["good"])
        self.assertAlmostEqual(means["good"]["speedup"], 1 / 0.9)

    def test_prints(self):
        text = compare.row("k", self.found, self.names)
        self.assertIn("0.9000", text)
        self.assertIn("WRONG", text)
        self.assertIn("hang", text)


class Dying(unittest.TestCase):
    JOB = {"variants": {"a": "a.cubin", "b": "b.cubin"}}

    def run_with(self, outcomes):
        jobs = []

        class Fake:
            def __init__(self, job):
                jobs.append(job["variants"])

            def outcome(self, timeout):
                return outcomes.pop(0)

            def end(self):
                pass

        with mock.patch.object(compare, "Worker", Fake):
            return compare.run_launch(self.JOB, 1), jobs

    def test_goes_on_without_the_variant_to_blame(self):
        (result, errors), jobs = self.run_with([{"failed": "a", "error": "boom"}, {"result": {"x": 1}}])
        self.assertEqual((result, errors), ({"x": 1}, {"a": "boom"}))
        self.assertEqual(jobs, [self.JOB["variants"], {"b": "b.cubin"}])

    def test_gives_up_when_the_original_fails(self):
        for blamed in (None, "original", "again"):
            (result, errors), jobs = self.run_with([{"failed": blamed, "error": "boom"}])
            self.assertIsNone(result)
            self.assertEqual((errors, len(jobs)), ({"original": "boom"}, 1))

    def worker(self, script):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "worker.py")
            path.write_text(script)
            with mock.patch.object(compare, "WORKER", path):
                worker = compare.Worker({})
                try:
                    return worker.outcome(20 if "while" not in script else 1)
                finally:
                    worker.end()

    def test_a_real_process(self):
        doing = 'print(\'{"doing": "round 1", "variant": "v"}\', flush=True)\n'
        self.assertEqual(self.worker(doing), {"failed": "v", "error": "the worker ended (round 1)"})
        self.assertEqual(self.worker(doing + "while True: pass"), {"failed": "v", "error": "hang (round 1)"})
        self.assertEqual(self.worker(doing + 'print(\'{"result": 1}\')'), {"result": 1})


class Inputs(unittest.TestCase):
    def make(self, element, kind, count=10000, **parameters):
        a, b = inputs.coefficients(kind, parameters)
        return inputs.generate(element, count, kind, inputs.seed("test"), a, b)

    def test_shapes(self):
        normal = self.make("f4", "normal")
        self.assertAlmostEqual(float(normal.mean()), 0, delta=0.05)
        self.assertAlmostEqual(float(normal.std()), 1, delta=0.05)
        self.assertAlmostEqual(float((self.make("f2", "sparse", zeros=0.3) == 0).mean()), 0.3, delta=0.03)
        wide = self.make("f8", "wide", low=-3, high=3)
        sizes = abs(wide[wide != 0])
        self.assertTrue(0.125 <= sizes.min() and sizes.max() < 16 and (wide < 0).any() and (wide == 0).any())
        whole = self.make("i4", "integers", low=-2, high=3)
        self.assertEqual(sorted(set(whole.tolist())), [-2, -1, 0, 1, 2])
        self.assertGreater(len(set(self.make("u4", "bits").tolist())), 9990)

    def test_row_starts_never_fall(self):
        starts = self.make("i4", "starts", average=7)
        lengths = numpy.diff(starts)
        self.assertTrue((lengths >= 0).all() and (lengths <= 14).all() and (lengths == 0).any())
        self.assertLessEqual(starts[-1], 10000 * 7)

    def test_the_same_for_ever(self):
        self.assertEqual(self.make("u4", "bits", 3).tolist(), [3118027827, 2825238070, 291917155])
        self.assertNotEqual(inputs.seed("a", 1), inputs.seed("a", 2))


class Building(unittest.TestCase):
    def test_expressions(self):
        names = {"n": 10, "k": 3}
        for text, value in {"n": 10, "cdiv(n, k)": 4, "(n + 1) * k - 2": 31, "max(n, k) // 4": 2}.items():
            self.assertEqual(build.evaluate(text, names), value)
        for text in ("m", "n / 2", "n.real", "__import__('os')", "min(n, key=k)"):
            with self.subTest(text), self.assertRaises(build.Refused):
                build.evaluate(text, names)

    def test_parameters_of_ptx(self):
        ptx = ".visible .entry k(\n .param .u64 .ptr .global .align 1 k_param_0,\n .param .f32 k_param_1,\n .param .f64 k_2\n)"
        self.assertEqual(build.entry_parameters(ptx), ("k", [8, 4, 8]))
        with self.assertRaises(build.Refused):
            build.entry_parameters("")

    def test_arguments_must_fit(self):
        launch = {
            "about": "", "launches": 1, "grid": [1], "block": [32], "sets": [{"n": 1}] * 3,
            "arguments": [{"out": "f4", "count": "n"}, {"i4": "n"}],
        }  # fmt: skip
        resolved = build.resolve_launch("k", launch, {"parameters": [8, 4]})
        self.assertEqual(len(resolved["sets"]), 3)
        for parameters in ([8], [8, 8], [8, 4, 8]):
            with self.subTest(parameters), self.assertRaises(build.Refused):
                build.resolve_launch("k", launch, {"parameters": parameters})

    def test_frozen(self):
        data = {
            "kernels": {"k": {"cubin_sha256": "0"}}, "support": {"cubin_sha256": "1"},
            "launches": {"k": {"about": "a", "launches": 1}},
        }  # fmt: skip
        frozen = build.digest(data)
        other = copy.deepcopy(data)
        other["launches"]["k"]["about"] = "in other words"
        other["kernels"]["added"] = {"cubin_sha256": "2"}
        self.assertEqual(build.changes(frozen, other), [])
        other["launches"]["k"]["launches"] = 2
        del other["kernels"]["k"]
        self.assertEqual(build.changes(frozen, other), ["cubin k: missing", "launch k: changed"])


class Profiling(unittest.TestCase):
    def test_report(self):
        chosen = {"ns": "t", "fma": "f", "dram": "d"}
        report = '==PROF== x\n"ID","t","f","d"\n"","us","%","%"\n"0","1,500.5","71.5","20"\n'
        numbers = ncu.values(report, chosen)
        self.assertTrue(math.isclose(numbers["ns"], 1500500.0))
        self.assertEqual(ncu.bound(numbers), "fma")
        self.assertTrue(ncu.bound({"fma": 20.0}).startswith("latency"))
        with self.assertRaises(ValueError):
            ncu.values("", chosen)


class Card(unittest.TestCase):
    def test_ranks_share_ties(self):
        self.assertEqual(card.ranks([30, 10, 20, 10]), [4, 1.5, 3, 1.5])

    def test_correlation(self):
        self.assertAlmostEqual(card.spearman([1, 2, 3, 4], [10, 20, 30, 99]), 1)
        self.assertAlmostEqual(card.spearman([1, 2, 3, 4], [9, 7, 5, 1]), -1)
        self.assertTrue(math.isnan(card.spearman([1, 1, 1], [1, 2, 3])))

    def test_only_kernels_that_were_changed_are_estimated(self):
        kernel = {"name": "k", "kept": None, "cycles": {"before": 9, "after": 7}}
        self.assertEqual(card.cycles_of({"kernels": [kernel]}, "k"), 9)
        self.assertIsNone(card.cycles_of({"kernels": [{**kernel, "kept": "no room"}]}, "k"))
        self.assertIsNone(card.cycles_of({"kernels": [{**kernel, "cycles": None}]}, "k"))
        self.assertIsNone(card.cycles_of({"kernels": [kernel]}, "other"))

    def test_few_blocks_say_how_many_warps_there_are(self):
        chosen = {"block": [128, 2, 1], "grid": [132, 2, 1], "shared": 64}
        self.assertEqual(card.launch_option(chosen), "block=256,smem=64,blocks-per-sm=2")
        self.assertEqual(card.launch_option({"block": [32, 1, 1], "grid": [132, 9, 1]}), "block=32,smem=0")

    def test_there_are_variants_enough(self):
        self.assertGreaterEqual(len(card.recipes(26)), 30)

    def test_a_card(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            (path / "estimates.json").write_text('{"a": {"k": 1}, "b": {"k": 2}, "c": {"k": 3}}')
            entries = [
                {"launch": "k", "variant": name, "identical": True, "ratio": {"median": time}}
                for name, time in [("a", 0.9), ("b", 1.0), ("c", 1.2), ("unknown", 5.0)]
            ]
            (path / "measured.json").write_text(json.dumps(entries))
            options = mock.Mock(variants=path, measured=path / "measured.json", json=path / "card.json")
            with mock.patch("builtins.print"):
                card.rank(options)
            self.assertIn('"spearman": 1.0', (path / "card.json").read_text())


ORDERS = """kernel k
# block 0, loop depth 0: S2R EXIT
block 0: 0 1
# block 3, loop depth 1: LDG FADD FMUL STG BRA
block 3: 1 0 2 3 4
"""


class Exploring(unittest.TestCase):
    def read(self):
        blocks = {}
        return explore.read_orders(ORDERS, blocks), blocks

    def test_orders_are_read_with_what_is_said_about_blocks(self):
        orders, blocks = self.read()
        self.assertEqual(orders, {("k", 0): [0, 1], ("k", 3): [1, 0, 2, 3, 4]})
        self.assertEqual(blocks["k", 3], explore.Block(1, ["LDG", "FADD", "FMUL", "STG", "BRA"]))

    def test_what_is_written_reads_back(self):
        orders, _ = self.read()
        self.assertEqual(explore.read_orders(explore.write_orders(orders), {}), orders)

    def test_a_move_keeps_all_instructions_and_small_blocks(self):
        orders, blocks = self.read()
        moved = 0
        for seed in range(50):
            new, said = explore.mutate(random.Random(seed), blocks, orders)
            self.assertEqual(new["k", 0], [0, 1])
            self.assertEqual(sorted(new["k", 3]), [0, 1, 2, 3, 4])
            self.assertTrue(said.startswith("b3: "))
            moved += new != orders
        self.assertGreater(moved, 20)


SOURCE = """"Kernel Name","k"
"Address","Source","# Samples","Instructions Executed"
"0","MOV","10","528"
"16","FADD","60","1,056"
"32","BRA","30","1,056"
"48","EXIT","0","528"
"""


class Hot(unittest.TestCase):
    def kernel(self):
        loop = {"offset": 16, "depth": 1, "blocks": [1], "cycles": 50.0}
        outer = {"offset": 0, "depth": 0, "blocks": [0, 1], "cycles": 70.0}
        rows = [{"offset": 16 * i, "block": int(i in (1, 2))} for i in range(4)]
        return {"instructions": rows, "loops": [outer, loop]}

    def test_counts_per_instruction(self):
        self.assertEqual(hot.samples(SOURCE), [(528, 10), (1056, 60), (1056, 30), (528, 0)])
        with self.assertRaises(ValueError):
            hot.samples("nothing")

    def test_an_iteration_of_the_innermost_hot_loop(self):
        loop, share, cycles = hot.iteration(self.kernel(), hot.samples(SOURCE), 1000.0)
        self.assertEqual((loop["offset"], share), (16, 0.9))
        self.assertAlmostEqual(cycles, 1000.0 * 0.9 / 2)
        self.assertIsNone(hot.iteration({"instructions": [], "loops": []}, [], 1.0))

    def test_the_busiest_unit(self):
        values = {f"sm__inst_executed_pipe_alu.{hot.PEAK}": 40.0, f"sm__inst_executed_pipe_fmalite.{hot.PEAK}": 53.0}
        self.assertEqual(hot.busiest(values), ("FMA", 53.0))


if __name__ == "__main__":
    unittest.main()

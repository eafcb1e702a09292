"""What can be tested without a GPU and without PyTorch: comparing results, what a dying process leads to, the shadow of PyTorch, modes, summaries.

    python3 -m unittest discover -s bench/gpu/silicon
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))

import cases
import compiled
import modes
import operator_worker
import operators
import processes
import rare
import shadow
import suite
import summary


def results(deaths=(), **digests) -> cases.Results:
    """Of cases by name: a digest, a pair with the gradient's, or None for an error."""
    made = {}
    for name, value in digests.items():
        digest, gradient = value if isinstance(value, tuple) else (value, None)
        made[name] = {"case": name, "error": "RuntimeError: no"} if digest is None else {"case": name, "digest": digest, "gradient": gradient}
    return cases.Results(made, list(deaths))


class Comparison(unittest.TestCase):
    def test_only_steady_cases_count(self):
        originals = [results(a="1", b="1", c="1", d=None), results(a="1", b="2", c="1", d=None), results(a="1", b="1", d=None)]
        self.assertEqual(cases.steady(originals), {"a"})
        verdict = cases.compare(originals, results(a="1", b="9"))
        self.assertEqual((verdict["cases"], verdict["equal"], verdict["unsteady"]), (1, 1, 2))
        self.assertTrue(cases.passed(verdict))

    def test_everything_that_is_not_equal_has_a_name(self):
        originals = [results(a="1", b=("1", "g"), c="1", d="1"), results(a="1", b=("1", "g"), c="1", d="1")]
        verdict = cases.compare(originals, results(["c: exit status 99"], a="2", b=("1", "h"), c=None))
        self.assertEqual(verdict["different"], ["a", "b"])
        self.assertEqual((verdict["errors"], verdict["missing"]), (["c: RuntimeError: no"], ["d"]))
        self.assertFalse(cases.passed(verdict))
        made = summary.row("operators", "default", verdict, "abc", "")
        self.assertEqual(made["crashes"], ["c: exit status 99", "c: RuntimeError: no", "d: missing"])
        self.assertFalse(summary.passed(made))

    def test_no_case_is_no_success(self):
        self.assertFalse(cases.passed(cases.compare([results(), results()], results())))

    def test_what_differs_without_us_is_no_difference(self):
        verdict = cases.compare([results(a="1", b="1")] * 2, results(a="2", b="2"))
        verdict = cases.without(verdict, [results(a="1", b="1"), results(a="3", b="1")])
        self.assertEqual((verdict["different"], verdict["cases"], verdict["unsteady"]), (["b"], 1, 1))
        self.assertEqual(cases.operators_of(["sort.x|float32|1", "sort.x|int64|0", "add|bool|2"]), ["add", "sort.x"])

    def test_a_line_that_was_not_finished_is_no_record(self):
        with tempfile.TemporaryDirectory() as text:
            path = Path(text) / "0.jsonl"
            path.write_text('{"begin": 0, "op": "add"}\n{"case": "add|bool|0", "digest": "1"}\n{"dead": "x"}\n{"loaded": ["/l"]}\n{"case": "ad')
            found = cases.load(Path(text))
        self.assertEqual(found.loaded, {"/l"})
        self.assertEqual((set(found.cases), found.deaths, found.operators), ({"add|bool|0"}, ["x"], {"add"}))


WORKER = """
import json, os, sys, time
out, shard, of, start = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
file = open(out, "a", buffering=1)
for index, name in list(enumerate(["a", "dies", "b", "hangs", "c"][shard::of]))[start:]:
    file.write(json.dumps({"begin": index, "op": name}) + "\\n")
    if name == "dies": os._exit(7)
    if name == "hangs": time.sleep(60)
    file.write(json.dumps({"case": name, "digest": sys.argv[5]}) + "\\n")
file.write(json.dumps({"done": shard}) + "\\n")
"""


class Processes(unittest.TestCase):
    def run_worker(self, text: str, jobs: int, limit: float = 60, silence: float = 1) -> cases.Results:
        with tempfile.TemporaryDirectory() as folder:
            worker = Path(folder) / "worker.py"
            worker.write_text(text)
            out = Path(folder) / "out"
            processes.run(out, jobs, ["d"], {}, limit, [sys.executable, str(worker)], silence)
            return cases.load(out)

    def test_the_next_process_goes_on_behind(self):
        for jobs in (1, 2):
            found = self.run_worker(WORKER, jobs)
            self.assertEqual(set(found.cases), {"a", "b", "c"})
            self.assertEqual(sorted(found.deaths), ["dies: exit status 7", "hangs: silent for 1 s"])

    def test_who_never_begins_is_not_started_for_ever(self):
        found = self.run_worker("raise SystemExit(3)", 1)
        self.assertEqual(found.deaths, ["start: exit status 3"])

    def test_time_runs_out(self):
        found = self.run_worker(WORKER.replace('"dies": os._exit(7)', '"dies": time.sleep(60)'), 1, limit=2, silence=50)
        self.assertEqual(found.deaths, ["dies: the time is over"])


# As much of PyTorch as the worker asks for: tensors are lists of bytes, gradients their lengths.
TORCH = {
    "torch/__init__.py": """
import types
strided = "strided"
uint8 = "uint8"
float32, float16, int64 = ("torch." + name for name in ("float32", "float16", "int64"))
manual_seed = lambda seed: None
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()), cudnn=types.SimpleNamespace())
class Tensor:
    layout, dtype, requires_grad = strided, float32, False
    def __init__(self, data, requires_grad=False): self.data, self.requires_grad = bytes(data), requires_grad
    shape = property(lambda self: (len(self.data),))
    numel = lambda self: len(self.data)
    is_complex = lambda self: False
    sum = lambda self: len(self.data)
    view = lambda self, kind: self
    reshape = lambda self, size: self
    tobytes = lambda self: self.data
    detach = resolve_conj = resolve_neg = contiguous = cpu = numpy = lambda self: self
def grad(total, inputs, allow_unused):
    return [Tensor([total]) for _ in inputs]
autograd = types.SimpleNamespace(grad=grad)
compile = lambda function, dynamic: function
_dynamo = types.SimpleNamespace(reset=lambda: None)
""",
    "torch/utils/_pytree.py": "tree_flatten = lambda x: ([i for y in x for i in tree_flatten(y)[0]], 0) if isinstance(x, (list, tuple)) else ([x], 0)\n",
    "torch/testing/_internal/common_methods_invocations.py": """
import expecttest, torch, types
assert expecttest.TestCase
class Operator:
    supports_autograd, variant_test_name = True, ""
    def __init__(self, name, op, kinds=("float32", "int64")): self.name, self.op, self.kinds = name, op, kinds
    def supported_dtypes(self, device): return {"torch." + kind for kind in self.kinds}
    def sample_inputs(self, device, kind, requires_grad):
        for size in range(3): yield types.SimpleNamespace(input=torch.Tensor([7] * (size + 1), requires_grad), args=(), kwargs={})
    def __call__(self, x): return self.op(x)
def dies(x): raise RuntimeError("CUDA error: an illegal memory access was encountered")
def fails(x): raise ValueError("no such thing")
op_db = [Operator("twice", lambda x: torch.Tensor(x.data * 2, x.requires_grad)), Operator("dies", dies), Operator("empty_like", dies),
         Operator("fails", fails), Operator("number", lambda x: [3, x])]
""",
}


class Worker(unittest.TestCase):
    def results(self, *words: str) -> cases.Results:
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            for name, source in TORCH.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(source)
            processes.run(folder / "out", 2, ["2", *words], {"PYTHONPATH": text}, 60)
            found = cases.load(folder / "out")
            self.assertEqual([path.read_text() for path in (folder / "out").glob("*.err")], ["", ""])
            return found

    def test_a_digest_for_every_case(self):
        found = self.results("")
        self.assertEqual(found.operators, {"twice", "dies", "fails", "number"})
        self.assertEqual(len(found.cases), 2 * 2 * 3 + 1)
        self.assertEqual(len(found.deaths), 1)
        self.assertIn("dies|float32|0: RuntimeError: CUDA error", found.deaths[0])
        case = found.cases["twice|float32|1"]
        self.assertEqual((len(case["digest"]), len(case["gradient"])), (64, 64))
        self.assertNotEqual(case["digest"], found.cases["twice|float32|0"]["digest"])
        self.assertNotIn("gradient", found.cases["twice|int64|1"])
        self.assertEqual(found.cases["fails|int64|0"]["error"], "ValueError: no such thing")

    def test_compiled_and_chosen(self):
        found = self.results("^(twice|number)$", "compile")
        self.assertEqual((set(found.operators), found.deaths), ({"twice", "number"}, []))
        self.assertNotIn("gradient", found.cases["twice|float32|1"])


class Shadow(unittest.TestCase):
    def test_only_what_is_replaced_differs(self):
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            package = folder / "site" / "torch"
            (package / "lib").mkdir(parents=True)
            (package.parent / "nvidia").mkdir()
            for name in ("__init__.py", "lib/a.so", "lib/b.so"):
                (package / name).write_text(f"old {name}")
            (folder / "new.so").write_text("new")
            for _ in range(2):  # a second time in the same place
                path = shadow.make(folder / "shadow", package, {"a.so": folder / "new.so"})
            self.assertEqual((path / "torch/lib/a.so").read_text(), "new")
            self.assertEqual((path / "torch/lib/b.so").read_text(), "old lib/b.so")
            self.assertEqual((path / "torch/__init__.py").read_text(), "old __init__.py")
            self.assertTrue((path / "nvidia").is_dir())
            self.assertEqual((package / "lib/a.so").read_text(), "old lib/a.so")
            with self.assertRaises(SystemExit):
                shadow.make(folder / "shadow", package, {"absent.so": folder / "new.so"})

    def test_a_library_of_another_package_is_replaced(self):
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            package = root / "site" / "torch"
            (package / "lib").mkdir(parents=True)
            inner = root / "site" / "nvidia" / "cu13" / "lib"
            inner.mkdir(parents=True)
            for file in ("a.so", "b.so"):
                (inner / file).write_text(file)
            (root / "site" / "nvidia" / "cudnn").mkdir()
            (root / "new.so").write_text("new")
            path = shadow.make(root / "shadow", package, {}, (Path("nvidia/cu13/lib/a.so"), root / "new.so"))
            lib = path / "nvidia" / "cu13" / "lib"
            self.assertEqual([(lib / file).read_text() for file in ("a.so", "b.so")], ["new", "b.so"])
            self.assertTrue((path / "nvidia" / "cudnn").is_symlink())


class Runs(unittest.TestCase):
    def options(self, out: Path) -> argparse.Namespace:
        return argparse.Namespace(out=out, samples=3, only=None, jobs=1, limit=5, commit="abc")

    def test_the_same_bytes_are_not_run_again(self):
        with tempfile.TemporaryDirectory() as text:
            options, ran = self.options(Path(text)), []

            def fake(folder, *_arguments):
                ran.append(folder.name)
                folder.mkdir()

            with mock.patch.object(processes, "run", fake), mock.patch("builtins.print"):
                for hashes, commit in (({"x": "1"}, "one"), ({"x": "1"}, "two"), ({"x": "2"}, "three")):
                    options.commit = commit
                    folder, made = operators.measured(options, "default", hashes, {})
                self.assertEqual((len(ran), made), (2, "three"))
                options.commit, options.samples = "four", 1
                self.assertEqual(operators.measured(options, "default", {"x": "2"}, {})[1], "four")
                # A run that was broken off left no key.
                (folder / "key.json").unlink()
                operators.measured(options, "default", {"x": "2"}, {})
            self.assertEqual(len(ran), 4)

    def test_differences_are_looked_at_again(self):
        with tempfile.TemporaryDirectory() as text:
            options, patterns = self.options(Path(text)), []

            def fake(folder, _jobs, rest, _extra, _limit):
                patterns.append(rest[1])
                folder.mkdir(parents=True)
                digest = len(patterns) % 2
                (folder / "0.jsonl").write_text(json.dumps({"case": "special.i0|float32|0", "digest": digest}) + "\n")

            verdict = cases.compare([results(**{"special.i0|float32|0": "1"})] * 2, results(**{"special.i0|float32|0": "2"}))
            with mock.patch.object(processes, "run", fake), mock.patch("builtins.print"):
                verdict = operators.widened(options, verdict, {}, {})
            self.assertEqual((verdict["different"], verdict["cases"]), ([], 0))
            self.assertEqual(patterns, [r"^(special\.i0)$"] * operators.AGAIN)

    def test_what_ran_is_what_was_rescheduled(self):
        made = {name: Path("/new") / name for name in operators.LIBRARIES}
        check = lambda *paths: operators.loaded(cases.Results(loaded=set(paths)), made)[0]
        self.assertTrue(check("/new/libtorch_cuda.so") and check("/new/libtorch_cuda.so", "/new/libtorch_cuda_linalg.so"))
        self.assertFalse(check() or check("/new/libtorch_cuda_linalg.so"))
        self.assertFalse(check("/new/libtorch_cuda.so", "/site/torch/lib/libtorch_cuda_linalg.so"))

    def test_modes_are_options(self):
        self.assertEqual(modes.flags("default"), [])
        self.assertEqual(modes.flags("shuffle12"), ["--strategy", "shuffle", "--seed", "12"])
        self.assertEqual(modes.flags("rebuild"), ["--strategy", "original", "--control", "rebuild"])
        self.assertEqual((modes.flags("serial"), modes.flags("reverse")), (["--control", "serial"], ["--strategy", "reverse"]))

    def test_the_standin_is_told_the_mode(self):
        with tempfile.TemporaryDirectory() as text:
            made = compiled.caches(Path(text) / "x")
            made |= compiled.standin(Path(text) / "x", Path(sys.executable), "/real/ptxas", "shuffle3", "--effort standard")
            self.assertEqual(made["SASSAFRAS_FLAGS"], "--strategy shuffle --seed 3 --quiet --effort standard")
            self.assertEqual(Path(made["TRITON_PTXAS_PATH"]).read_bytes(), Path(sys.executable).read_bytes())
            self.assertEqual(made["SASSAFRAS_PTXAS"], "/real/ptxas")

    def test_patterns_for_a_quick_look(self):
        import re

        for name in ("sort", "nn.functional.conv2d", "linalg.solve", "special.i0e", "std.unbiased"):
            self.assertTrue(re.search(operators.DAILY, name), name)
        self.assertFalse(re.search(operators.DAILY, "sorted_thing"))
        for name, left_out in (("empty", True), ("new_empty", True), ("empty_like", True), ("emptyish", False), ("add", False)):
            self.assertEqual(bool(operator_worker.UNINITIALISED.match(name)), left_out, name)


class Suite(unittest.TestCase):
    LAUNCHES = {"k_low": {"kernel": "k"}, "k_high": {"kernel": "k"}, "s": {"kernel": "s"}, "t": {"kernel": "t"}}

    def statuses(self, changed, **verdicts):
        good = {"identical": True, "error": None}
        found = {name: {"deterministic": True, "variants": {"m": verdicts.get(name, good)}} for name in self.LAUNCHES}
        found["t"]["deterministic"] = False
        return {row["kernel"]: row["status"] for row in suite.statuses(self.LAUNCHES, found, {"m": set(changed)})}

    def test_the_worst_launch_of_a_kernel_counts(self):
        wrong, lost, hung = ({"identical": False, "error": error} for error in (None, "CUDA_ERROR", "hang (run)"))
        self.assertEqual(self.statuses("kst", k_high=wrong), {"k": "different", "s": "equal", "t": "unstable"})
        self.assertEqual(self.statuses("ks", k_low=lost, s=hung), {"k": "error", "s": "hang", "t": "same"})
        self.assertEqual(self.statuses("k"), {"k": "equal", "s": "same", "t": "same"})


class Summaries(unittest.TestCase):
    def test_unchanged_code_is_no_case(self):
        rows = [
            {"kernel": "a", "build": "O3", "mode": mode, "status": status}
            for mode, status in (("default", "same"), ("default", "equal"), ("reverse", "different"), ("reverse", "hang"), ("rebuild", "same"))
        ]
        made = {row["mode"]: row for row in summary.from_rows("rare", rows, "abc")}
        self.assertEqual((made["default"]["cases"], made["default"]["note"], summary.passed(made["default"])), (1, "1 not changed", True))
        self.assertEqual((made["reverse"]["different"], made["reverse"]["crashes"]), (["a.O3"], ["a.O3: hang"]))
        self.assertFalse(summary.passed(made["rebuild"]), "nothing ran")
        text = summary.table(list(made.values()))
        self.assertIn("different: a.O3", text)
        self.assertIn("abc", text)

    def test_a_part_can_fail_although_its_cases_are_equal(self):
        made = summary.from_rows("rare", [{"kernel": "a", "build": "O3", "mode": "m", "status": "equal"}], "c")[0]
        self.assertTrue(summary.passed(made))
        self.assertFalse(summary.passed(made | {"failed": True}))


class Kernels(unittest.TestCase):
    def test_every_kernel_says_what_it_is_for(self):
        for source in rare.sources(None):
            self.assertTrue(rare.header(source.read_text())["what"], source.name)

    def test_tensor_maps_cover_all_words_in_boxes_of_256(self):
        import math

        for sizes, box in rare.TENSORS:
            self.assertEqual((math.prod(sizes), math.prod(box), len(sizes)), (rare.WORDS, 256, len(box)))
            self.assertEqual(box[0] * 4 % 16, 0)

    def test_structures_are_those_of_the_driver(self):
        # Sizes and places of cuda.h on 64-bit machines.
        self.assertEqual((ctypes.sizeof(rare.Copy), ctypes.sizeof(rare.ArrayDescriptor)), (128, 40))
        self.assertEqual((ctypes.sizeof(rare.Resource), rare.Resource.of.offset, rare.Resource.flags.offset), (144, 8, 136))
        self.assertEqual((ctypes.sizeof(rare.Sampling), rare.CopyPart.array.offset), (104, 40))

    def test_words_of_promises(self):
        self.assertTrue(rare.match("TLD4", "TLD4.R") and rare.match("LDG.U16", "LDG.E.EF.U16"))
        self.assertFalse(rare.match("TEX", "TEXS"))


if __name__ == "__main__":
    unittest.main()

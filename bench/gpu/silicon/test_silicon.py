"""What can be tested without a GPU and without PyTorch: comparing results, what a dying process leads to, the shadow of PyTorch, modes, summaries.

    python3 -m unittest discover -s bench/gpu/silicon
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
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
        self.assertEqual((verdict["cases"], verdict["equal"], verdict["unsteady"]), (1, 1, {"b": 2, "c": 1}))
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

    def without(self, candidate, *again, originals=()):
        """Which of `a` and `b`, 1 in the original at first, still differ."""
        verdict = cases.compare([results(a="1", b="1", c="1")] * 2, candidate)
        verdict = cases.without(verdict, list(again), candidate, list(originals))
        self.assertEqual(verdict["cases"], 3 - len(verdict["unsteady"]))
        return verdict["different"], verdict["unsteady"]

    def test_what_differs_without_us_is_no_difference(self):
        candidate, first = results(a="2", b="2", c="1"), results(a="1", b="1", c="1")
        self.assertEqual(self.without(candidate, first, results(a="3", b="1")), (["b"], {"a": 2}))
        # The result that was called different is the original's, too.
        self.assertEqual(self.without(candidate, results(a="2", b="1"), results(a="2", b="1")), (["b"], {"a": 1}))
        # By itself it gives another result than among the others; but that says nothing where inputs are others.
        alone = [results(a="1", b="3")] * 2
        self.assertEqual(self.without(candidate, *alone, originals=[first]), (["a"], {"b": 2}))
        self.assertEqual(self.without(candidate, *alone), (["a", "b"], {}))
        # What cannot be run again is no result.
        self.assertEqual(self.without(candidate, results(a=None, b="1"), results(a="1")), (["a", "b"], {}))
        # From one turn to the next in one process.
        turns = results(a="1", b="1")
        turns.earlier["b"] = {("4", None), ("5", None)}
        self.assertEqual(self.without(candidate, turns), (["a"], {"b": 3}))

    def test_the_operators_of_cases(self):
        self.assertEqual(cases.operators_of(["sort.x|float32|1", "sort.x|int64|0", "add|bool|2"]), ["add", "sort.x"])

    def test_a_line_that_was_not_finished_is_no_record(self):
        with tempfile.TemporaryDirectory() as text:
            path = Path(text) / "0.jsonl"
            path.write_text('{"begin": 0, "op": "add"}\n{"case": "add|bool|0", "digest": "1"}\n{"dead": "x"}\n{"loaded": ["/l"]}\n{"case": "ad')
            found = cases.load(Path(text))
        self.assertEqual(found.loaded, {"/l"})
        self.assertEqual((set(found.cases), found.deaths, found.operators), ({"add|bool|0"}, ["x"], {"add"}))

    def test_every_turn_counts(self):
        with tempfile.TemporaryDirectory() as text:
            digests = ["1", "2", "1"]
            (Path(text) / "0.jsonl").write_text("".join(json.dumps({"case": "a", "digest": digest}) + "\n" for digest in digests))
            found = cases.load(Path(text))
        self.assertEqual((found.of("a"), found.cases["a"]["digest"], found.of("b")), ({("1", None), ("2", None)}, "1", set()))


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


DATABASE = "torch/testing/_internal/common_methods_invocations.py"
# As much of PyTorch as the worker asks for: tensors are lists of bytes, gradients their lengths.
TORCH = {
    "torch/__init__.py": """
import os, types
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
free = [os.urandom(8)]  # what is in memory that nobody wrote
class Block:
    def fill_(self, value): free[0] = bytes([value] * 8)
empty = lambda size, dtype, device: Block()
cuda = types.SimpleNamespace(current_device=lambda: 0, current_stream=lambda: types.SimpleNamespace(cuda_stream=0), memory_snapshot=lambda: [])
""",
    "torch/utils/_pytree.py": "tree_flatten = lambda x: ([i for y in x for i in tree_flatten(y)[0]], 0) if isinstance(x, (list, tuple)) else ([x], 0)\n",
    DATABASE: """
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
         Operator("fails", fails), Operator("number", lambda x: [3, x]), Operator("unwritten", lambda x: torch.Tensor(torch.free[0]))]
""",
}


class Worker(unittest.TestCase):
    def results(self, only: str, *words: str, fill: int = 1, turns: int = 1) -> cases.Results:
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            for name, source in TORCH.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(source)
            processes.run(folder / "out", 2, ["2", only, str(fill), str(turns), *words], {"PYTHONPATH": text}, 60)
            found = cases.load(folder / "out")
            self.assertEqual([path.read_text() for path in (folder / "out").glob("*.err")], ["", ""])
            return found

    def test_a_digest_for_every_case(self):
        found = self.results("")
        self.assertEqual(found.operators, {"twice", "dies", "fails", "number", "unwritten"})
        self.assertEqual(len(found.cases), 2 * 2 * 4 + 1)
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

    def test_memory_that_nobody_wrote_is_the_same_in_every_run(self):
        one, two = (self.results("^unwritten$").of("unwritten|float32|0") for _ in range(2))
        self.assertEqual((len(one), one), (1, two))
        self.assertNotEqual(self.results("^unwritten$", fill=0).of("unwritten|float32|0"), one)

    def test_several_turns_in_one_process(self):
        counting = TORCH[DATABASE].replace("x.data * 2", "x.data * next(counter)") + "import itertools\ncounter = itertools.count(1)\n"
        with mock.patch.dict(TORCH, {DATABASE: counting}):
            found = self.results("^(twice|number)$", turns=3)
        self.assertEqual([len(found.of(case)) for case in ("twice|float32|0", "number|int64|1")], [3, 1])


class FreeMemory(unittest.TestCase):
    """`operator_worker.blocks` on an allocator like PyTorch's: the smallest free block of a pool that is large enough, split where enough is left."""

    MEBI = operator_worker.MEBI

    def torch(self, small, large):
        segment = lambda kind, sizes, state="inactive", stream=0, device=0: {
            "segment_type": kind, "stream": stream, "device": device, "blocks": [{"size": size, "state": state} for size in sizes]
        }  # fmt: skip
        others = [segment("large", [9 * self.MEBI], "active_allocated"), segment("large", [8 * self.MEBI], stream=7), segment("small", [512], device=1)]
        cuda = argparse.Namespace(
            current_device=lambda: 0,
            current_stream=lambda: argparse.Namespace(cuda_stream=0),
            memory_snapshot=lambda: [segment("small", small), *others, segment("large", large)],
        )
        return argparse.Namespace(cuda=cuda)

    def asked(self, small, large, limit):
        """What is left free when all blocks were asked for, and what the driver had to give."""
        pools, given = {True: list(small), False: list(large)}, []
        for size in operator_worker.blocks(self.torch(small, large), limit):
            pool = pools[size <= self.MEBI]
            fitting = [block for block in pool if block >= size]
            if not fitting:
                given.append(size)
                continue
            pool.remove(min(fitting))
            if left := min(fitting) - size:
                pool.append(left)
        return pools[True] + pools[False], given

    def test_all_that_is_free_is_asked_for(self):
        small, large = [512, self.MEBI, 2 * self.MEBI, 2048, 512, 3 * self.MEBI // 2], [4 * self.MEBI, 900 * self.MEBI, 4 * self.MEBI]
        left, given = self.asked(small, large, 1024 * self.MEBI)
        self.assertEqual(left, [])
        self.assertEqual(set(given[:-1]), {self.MEBI})
        self.assertLessEqual(abs(sum(small + large + given) - 1024 * self.MEBI), 4 * self.MEBI)
        # The next time everything is at hand.
        self.assertEqual(self.asked(small + given[:-1], [*large, given[-1]], 1024 * self.MEBI), ([], []))

    def test_whatever_is_free(self):
        draw = random.Random(5)
        for _ in range(300):
            small = [512 * draw.randint(1, 4096) for _ in range(draw.randint(0, 9))]
            large = [512 * draw.randint(2049, 40960) for _ in range(draw.randint(0, 9))]
            self.assertEqual(self.asked(small, large, 1 << 30)[0], [], (small, large))

    def test_no_more_than_the_limit(self):
        left, given = self.asked([self.MEBI] * 16, [4 * self.MEBI, 900 * self.MEBI, 4 * self.MEBI], 64 * self.MEBI)
        self.assertEqual((left, given), ([(900 + 16 + 8 - 64) * self.MEBI], []))
        self.assertEqual(operator_worker.fill(None, 0), None)

    def test_what_there_is_gets_filled_when_memory_runs_out(self):
        filled = []

        class Full(Exception):
            pass

        class Block:
            def __init__(self, size):
                self.size = size

            def fill_(self, value):
                filled.append((self.size, value))

        def empty(size, dtype, device):
            if size > self.MEBI:
                raise Full
            return Block(size)

        torch = self.torch([], [])
        torch.cuda.OutOfMemoryError, torch.empty, torch.uint8 = Full, empty, None
        operator_worker.fill(torch, 64 * self.MEBI)
        self.assertEqual(filled, [(self.MEBI, operator_worker.CONTENT)] * 16)


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
        return argparse.Namespace(out=out, samples=3, only=None, jobs=1, limit=5, commit="abc", fill=64, turns=1)

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
                options.fill = 0
                self.assertEqual(operators.measured(options, "default", {"x": "2"}, {})[1], "four")
                # A run that was broken off left no key.
                (folder / "key.json").unlink()
                operators.measured(options, "default", {"x": "2"}, {})
            self.assertEqual(len(ran), 5)

    def test_differences_are_looked_at_again(self):
        with tempfile.TemporaryDirectory() as text:
            options, asked = self.options(Path(text)), []

            def fake(folder, _jobs, rest, _extra, _limit):
                asked.append(rest)
                folder.mkdir(parents=True)
                digest = len(asked) % 2
                (folder / "0.jsonl").write_text(json.dumps({"case": "special.i0|float32|0", "digest": digest}) + "\n")

            originals, candidate = [results(**{"special.i0|float32|0": "1"})] * 2, results(**{"special.i0|float32|0": "2"})
            with mock.patch.object(processes, "run", fake), mock.patch("builtins.print"):
                verdict = operators.judged(options, originals, candidate, {}, {})
            self.assertEqual((verdict["different"], verdict["cases"], list(verdict["unsteady"])), ([], 0, ["special.i0|float32|0"]))
            self.assertEqual(asked, [["3", r"^(special\.i0)$", "64", str(operators.TURNS)]] * operators.AGAIN)
            self.assertEqual(operators.rest(options), ["3", "", "64", "1"])

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

    def test_cases_that_differ_without_us_have_names(self):
        candidate = results(**{"steady|float32|0": "1", "found|int64|0": "3"})
        originals = [results(**{"noisy|int64|1": digest, "steady|float32|0": "1", "found|int64|0": "1"}) for digest in "12"]
        verdict = cases.without(cases.compare(originals, candidate), [results(**{"found|int64|0": "2"})], candidate, originals)
        made = summary.row("operators", "default", verdict, "abc", "")
        self.assertTrue(summary.passed(made))
        self.assertEqual((made["cases"], made["unsteady"]), (1, 2))
        self.assertIn("differ without us: found|int64|0 (2 results), noisy|int64|1 (2 results)", summary.table([made]))

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

#!/usr/bin/env python3
"""Compiles the benchmark suite for sm_90 and writes what the comparison needs to know about it. Needs no GPU.

    build.py --tools DIR --triton DIR --out DIR [--freeze]

DIR/<kernel>.cubin, DIR/<kernel>.ptx and DIR/manifest.json, in which every launch is resolved: grid, block, shared memory and
arguments of every input set. `--tools` is searched for an nvcc with its cicc and for a ptxas; `--triton` is a folder that
holds the package `triton`. The arguments of every launch are checked against the parameters in the PTX, and the code
against `frozen.json`.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import hashlib
import json
import operator
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import inputs

HERE = Path(__file__).resolve().parent
PTXAS = "13.4.92"
SIZES = {"i4": 4, "u4": 4, "i8": 8, "u8": 8, "f4": 4, "f8": 8}
POINTER = 8


class Refused(Exception):
    """Something in the suite or the tools does not fit; the message says where."""


# Expressions in suite.toml.

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}
FUNCTIONS = {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}


def evaluate(expression: Any, names: dict[str, float]) -> float:
    """A number, or an expression over `names` with + - * //, cdiv, min and max."""
    if not isinstance(expression, str):
        return expression

    def walk(node: ast.AST) -> float:
        match node:
            case ast.Expression(body):
                return walk(body)
            case ast.Constant(int() | float() as value):
                return value
            case ast.Name(name) if name in names:
                return names[name]
            case ast.UnaryOp(ast.USub(), operand):
                return -walk(operand)
            case ast.BinOp(left, sign, right) if type(sign) in OPERATORS:
                return OPERATORS[type(sign)](walk(left), walk(right))
            case ast.Call(ast.Name(name), args, []) if name in FUNCTIONS:
                return FUNCTIONS[name](*map(walk, args))
        raise Refused(f"cannot evaluate {expression!r} with {sorted(names)}")

    return walk(ast.parse(expression, mode="eval"))


def three(values: list[Any], names: dict[str, float]) -> list[int]:
    """Three extents of a grid or block."""
    return ([int(evaluate(v, names)) for v in values] + [1, 1])[:3]


# Launches.


def resolve_fill(fill: Any, number: int, names: dict[str, float]) -> dict[str, Any]:
    chosen = fill[number] if isinstance(fill, list) else fill
    chosen = {"kind": chosen} if isinstance(chosen, str) else dict(chosen)
    kind = chosen.pop("kind")
    a, b = inputs.coefficients(kind, {key: evaluate(value, names) for key, value in chosen.items()})
    return {"kind": kind, "a": a, "b": b}


def resolve_argument(launch: str, place: int, argument: dict[str, Any], number: int, names: dict[str, float]) -> dict[str, Any]:
    """A buffer or scalar of one input set, with nothing left to evaluate."""
    for role in ("in", "out", "inout"):
        if role not in argument:
            continue
        count = evaluate(argument["count"], names)
        if type(count) is not int or count <= 0 or argument[role] not in inputs.TYPES:
            raise Refused(f"{launch}, argument {place}: {count} elements of {argument[role]}")
        if (role == "out") == ("fill" in argument):
            raise Refused(f"{launch}, argument {place}: inputs are filled, outputs are not")
        resolved = {"role": role, "type": argument[role], "count": count}
        if role != "out":
            resolved["fill"] = resolve_fill(argument["fill"], number, names)
            resolved["seed"] = inputs.seed(launch, number, place)
        return resolved
    ((kind, expression),) = argument.items()
    return {"role": "scalar", "type": kind, "value": evaluate(expression, names)}


def size_of(argument: dict[str, Any]) -> int:
    return SIZES[argument["type"]] if argument["role"] == "scalar" else POINTER


def resolve_launch(name: str, launch: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    """A launch with all input sets; `facts` are those of its kernel's compilation."""
    sets = []
    for number, names in enumerate(launch["sets"]):
        arguments = [resolve_argument(name, i, a, number, names) for i, a in enumerate(launch["arguments"])]
        # What a compiler adds behind the declared arguments: pointers to scratch memory of no size.
        hidden = facts["parameters"][len(arguments) :] if "num_warps" in facts else []
        arguments += [{"role": "scalar", "type": "u8", "value": 0} for _ in hidden]
        if [size_of(a) for a in arguments] != facts["parameters"]:
            raise Refused(f"{name}: arguments {[size_of(a) for a in arguments]}, parameters {facts['parameters']}")
        block = [32 * facts["num_warps"], 1, 1] if "num_warps" in facts else three(launch["block"], names)
        shared = facts.get("shared", int(evaluate(launch.get("shared", 0), names)))
        sets.append({"grid": three(launch["grid"], names), "block": block, "shared": shared, "arguments": arguments})
    if len(sets) < 3:
        raise Refused(f"{name}: fewer than three input sets")
    return {"kernel": launch.get("kernel", name), "about": launch["about"], "launches": launch["launches"], "sets": sets}


# Compilation.


def entry_parameters(ptx: str) -> tuple[str, list[int]]:
    """The only entry of a PTX file and the sizes of its parameters."""
    entries = re.findall(r"\.entry\s+(\w+)\s*\((.*?)\)", ptx, re.S)
    if len(entries) != 1:
        raise Refused(f"{len(entries)} entries in a PTX file, where one is wanted")
    name, text = entries[0]
    return name, [int(bits) // 8 for bits in re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.[a-z](\d+)\b", text)]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(command: list[Any], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise Refused(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


class Compilers:
    def __init__(self, tools: list[Path], triton: Path, python: str):
        self.nvcc = self._find(tools, "nvcc", lambda p: (p.parents[1] / "nvvm" / "bin" / "cicc").exists())
        self.ptxas = self._find(tools, "ptxas", lambda p: f"V{PTXAS}" in run([p, "--version"]))
        self.triton, self.python = triton, python

    @staticmethod
    def _find(folders: list[Path], name: str, fits: Any) -> Path:
        # A folder of tools may be the one that holds the tool, or one further up.
        for found in (p for folder in folders for p in sorted(folder.rglob(name))):
            if found.is_file() and fits(found):
                return found
        raise Refused(f"no {name} that will do in {', '.join(map(str, folders))}")

    def compile(self, name: str, source: Path, out: Path) -> dict[str, Any]:
        """Compiles one kernel; returns what is known about it."""
        ptx, cubin = out / f"{name}.ptx", out / f"{name}.cubin"
        facts: dict[str, Any] = {}
        if source.suffix == ".py":
            facts, arch = self._triton(source, ptx), "sm_90a"
        else:
            run([self.nvcc, "-O3", "-ptx", "-arch=compute_90", source, "-o", ptx])
            arch = "sm_90"
        report = run([self.ptxas, "-O3", "-v", f"-arch={arch}", ptx, "-o", cubin])
        numbers = re.search(r"Used (\d+) registers", report), re.search(r"(\d+) bytes smem", report)
        registers, shared = (int(n[1]) if n else 0 for n in numbers)
        entry, parameters = entry_parameters(ptx.read_text())
        return facts | {
            "source": str(source.relative_to(HERE)), "source_sha256": sha256(source), "arch": arch, "entry": entry,
            "cubin": cubin.name, "cubin_sha256": sha256(cubin), "ptx": ptx.name, "ptx_sha256": sha256(ptx),
            "registers": registers, "shared_static": shared, "parameters": parameters,
        }  # fmt: skip

    def _triton(self, source: Path, ptx: Path) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as cache:
            metadata = Path(cache) / "metadata.json"
            # Line tables would carry this machine's paths into the code.
            own = {"PYTHONPATH": str(self.triton), "TRITON_CACHE_DIR": cache, "TRITON_HOME": cache, "TRITON_DISABLE_LINE_INFO": "1"}
            run([self.python, HERE / "triton_ptx.py", source, ptx, metadata], os.environ | own)
            facts = json.loads(metadata.read_text())
        if any(facts.pop(key) for key in ("global_scratch_size", "profile_scratch_size", "tmem_size")):
            raise Refused(f"{source.name}: wants scratch memory")
        facts.pop("entry")
        return {"triton": facts.pop("version"), **facts}


def support_facts(compilers: Compilers, out: Path) -> dict[str, str]:
    """The harness's own kernels: several entries in one cubin."""
    ptx, cubin = out / "support.ptx", out / "support.cubin"
    run([compilers.nvcc, "-O3", "-ptx", "-arch=compute_90", HERE / "support.cu", "-o", ptx])
    run([compilers.ptxas, "-O3", "-arch=sm_90", ptx, "-o", cubin])
    ptx.unlink()
    return {"cubin": cubin.name, "cubin_sha256": sha256(cubin)}


# The whole.


def changes(frozen: dict[str, Any], manifest: dict[str, Any]) -> list[str]:
    """What of the frozen suite this build lacks or has otherwise."""
    found = digest(manifest)
    return [
        f"{part} {name}: {'missing' if name not in found[part] else 'changed'}"
        for part, entries in frozen.items()
        for name, value in entries.items()
        if found[part].get(name) != value
    ]


def digest(manifest: dict[str, Any]) -> dict[str, dict[str, str]]:
    """The hashes that must not change."""
    launches = {
        name: hashlib.sha256(json.dumps({**launch, "about": ""}, sort_keys=True).encode()).hexdigest()
        for name, launch in manifest["launches"].items()
    }
    cubins = {name: kernel["cubin_sha256"] for name, kernel in manifest["kernels"].items()}
    return {"cubin": cubins | {"support": manifest["support"]["cubin_sha256"]}, "launch": launches}


def memory(launch: dict[str, Any]) -> int:
    """The most bytes of buffers that an input set needs."""
    return max(
        sum(a["count"] * int(a["type"][1]) for a in entry["arguments"] if a["role"] != "scalar") for entry in launch["sets"]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tools", type=Path, action="append", required=True, help="may be given several times")
    parser.add_argument("--triton", type=Path, required=True)
    parser.add_argument("--python", default=sys.executable, help="for Triton")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--freeze", action="store_true", help="write frozen.json anew, after kernels were added")
    options = parser.parse_args()

    suite = tomllib.loads((HERE / "suite.toml").read_text())
    options.out.mkdir(parents=True, exist_ok=True)
    compilers = Compilers(options.tools, options.triton, options.python)
    sources = {launch.get("kernel", name): HERE / launch["source"] for name, launch in suite.items()}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {name: pool.submit(compilers.compile, name, source, options.out) for name, source in sources.items()}
        kernels = {name: job.result() for name, job in jobs.items()}
    manifest = {
        "format": 1,
        "ptxas": PTXAS,
        "nvcc": re.search(r"V([\d.]+)", run([compilers.nvcc, "--version"]))[1],
        "support": support_facts(compilers, options.out),
        "kernels": kernels,
        "launches": {
            name: resolve_launch(name, launch, kernels[launch.get("kernel", name)]) for name, launch in suite.items()
        },
    }
    (options.out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")

    for name, launch in manifest["launches"].items():
        kernel = manifest["kernels"][launch["kernel"]]
        grid, block = (launch["sets"][0][key] for key in ("grid", "block"))
        print(
            f"{name:20} {kernel['registers']:3} registers {kernel['shared_static'] + launch['sets'][0]['shared']:6} shared "
            f"{'x'.join(map(str, grid)):>14} of {'x'.join(map(str, block)):>8} {memory(launch) / 2**20:6.0f} MiB"
        )
    frozen = HERE / "frozen.json"
    if options.freeze:
        frozen.write_text(json.dumps(digest(manifest), indent=1) + "\n")
    differences = changes(json.loads(frozen.read_text()), manifest)
    for difference in differences:
        print(f"differs from frozen.json: {difference}", file=sys.stderr)
    return 1 if differences else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Refused as refusal:
        sys.exit(f"build.py: {refusal}")

#!/usr/bin/env python3
"""PyTorch's own operators on rescheduled libraries: are all results the same bits?

    operators.py libraries --sassafras BIN --out DIR [--modes …] [--only RE] [--commit C]      # the whole way
    operators.py run       --out DIR [--only RE] [--compile]                                   # one run of the PyTorch at hand
    operators.py compare   --candidate DIR ORIGINAL [ORIGINAL …]                               # no GPU
    operators.py schedule  --sassafras BIN --out DIR --libs DIR                                # no GPU: only reschedule

Needs PyTorch with CUDA, no network. The installed PyTorch stays as it is: rescheduled libraries are loaded from a folder of links
(shadow.py). Results stay in DIR; a mode runs again only when its rescheduled bytes or its cases changed. See README.md.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

import cases
import modes
import processes
import shadow
import summary

LIBRARIES = ("libtorch_cuda.so", "libtorch_cuda_linalg.so")
MODES = "rebuild,default,shuffle1,shuffle2,shuffle3"
ORIGINALS = 3  # runs that tell which cases are steady
AGAIN = 5  # more of them for operators that differ
TURNS = 10  # in each of these; cuDNN gives other bits from one turn to the next
COMPILED_TURNS = 3  # they take longer
# A quick look: sorting, scans, reductions, attention, convolutions, special functions, random numbers, indexing, linear algebra.
DAILY = (
    r"^(sort|argsort|msort|topk|unique|cumsum|cumprod|logcumsumexp|sum|std|norm|amax|argmax|median|mode|histc|bincount|searchsorted|index_add|"
    r"index_put|scatter_reduce|gather|where|nonzero|sin|lgamma|digamma|erfinv|float_power|pow|exp|i0|special\.\w+|softmax|log_softmax|"
    r"nn\.functional\.(conv2d|conv_transpose2d|layer_norm|batch_norm|group_norm|embedding_bag|scaled_dot_product_attention|"
    r"max_pool2d|avg_pool2d|interpolate|grid_sample|cross_entropy|ctc_loss|gelu|dropout|multi_margin_loss)|bmm|addmm|matmul|"
    r"linalg\.(solve|inv|cholesky|eigh|svd|qr|lu_factor|det)|cdist|renorm|bernoulli|multinomial|normal|rand_like)(\.|$)"
)


def rest(options: argparse.Namespace, compiled: bool = False) -> list[str]:
    """What the workers are told besides their shard."""
    return [str(options.samples), options.only or "", str(options.fill), str(options.turns), *(["compile"] if compiled else [])]


def key(options: argparse.Namespace, hashes: dict[str, str]) -> dict:
    """What a result depends on: where nothing of it changed, there is nothing to run."""
    asked = {name: getattr(options, name) for name in ("samples", "jobs", "fill", "turns")}
    return {"hashes": hashes, "only": options.only or "", **asked}


def is_done(folder: Path, wanted: dict) -> bool:
    path = folder / "key.json"
    return path.exists() and json.loads(path.read_text())["key"] == wanted


def measured(options: argparse.Namespace, name: str, hashes: dict[str, str], extra: dict[str, str], compiled: bool = False) -> tuple[Path, str]:
    """The folder of a run, made now or before, and the commit that it was made with."""
    folder, wanted = options.out / name, key(options, hashes)
    if not is_done(folder, wanted):
        if folder.exists():
            shutil.rmtree(folder)
        begin = time.monotonic()
        processes.run(folder, options.jobs, rest(options, compiled), extra, options.limit)
        made = {"key": wanted, "commit": options.commit, "seconds": round(time.monotonic() - begin)}
        # Last: a run that was broken off is no result.
        (folder / "key.json").write_text(json.dumps(made, indent=1) + "\n")
        print(f"{name}: {made['seconds']} s", flush=True)
    else:
        print(f"{name}: the same bytes as before, not run again", flush=True)
    return folder, json.loads((folder / "key.json").read_text())["commit"]


def judged(
    options: argparse.Namespace, originals: list[cases.Results], candidate: cases.Results, hashes: dict[str, str], extra, compiled: bool = False
) -> dict:
    """Compares; runs the operators that differ a few more times as they were, by themselves: do they differ without us?"""
    verdict = cases.compare(originals, candidate)
    if not verdict["different"]:
        return verdict
    names = "|".join(re.escape(name) for name in cases.operators_of(verdict["different"]))
    turns = COMPILED_TURNS if compiled else TURNS
    narrow = argparse.Namespace(**vars(options) | {"only": f"^({names})$", "out": options.out / "again", "turns": turns})
    found = []
    for number in range(AGAIN):
        environment = extra(f"again-{number}") if callable(extra) else extra
        folder, _ = measured(narrow, f"{number}", hashes | {"again": str(number)}, environment, compiled)
        found.append(cases.load(folder))
    return cases.without(verdict, found, candidate, originals)


def loaded(results: cases.Results, made: dict[str, Path]) -> tuple[bool, str]:
    """Whether the rescheduled libraries were the ones that ran, and no others; a word on it."""
    wanted = {str(path.resolve()): name for name, path in made.items()}
    others = results.loaded - set(wanted)
    if others:
        return False, f"LOADED: {', '.join(sorted(others))}"
    ran = [wanted[path] for path in sorted(results.loaded)]
    return LIBRARIES[0] in ran, f"ran {', '.join(ran) or 'NO rescheduled library'}"


def libraries(options: argparse.Namespace) -> int:
    """Originals, then every mode."""
    package = shadow.installed()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    original = {name: package / "lib" / name for name in LIBRARIES}
    hashes = {name: modes.sha256(path) for name, path in original.items()}
    rows = []
    wanted = options.modes.split(",")
    # While one mode runs, the libraries of the next are made.
    with concurrent.futures.ThreadPoolExecutor(1) as ahead:
        coming = ahead.submit(scheduled, options, original, wanted[0])
        runs = [measured(options, f"original-{n}", hashes | {"run": str(n)}, {})[0] for n in range(1, ORIGINALS + 1)]
        originals = [cases.load(folder) for folder in runs]
        for mode, following in zip(wanted, [*wanted[1:], None]):
            made = coming.result()
            coming = ahead.submit(scheduled, options, original, following) if following else None
            new = {name: modes.sha256(path) for name, path in made.items()}
            path = shadow.make(options.out / "shadow", package, made)
            python = os.pathsep.join(filter(None, [str(path), os.environ.get("PYTHONPATH")]))
            folder, commit = measured(options, mode, new, {"PYTHONPATH": python})
            found = cases.load(folder)
            verdict = judged(options, originals, found, hashes, {})
            changed = sum(new[name] != hashes[name] for name in LIBRARIES)
            right, note = loaded(found, made)
            row = summary.row("operators", mode, verdict, commit, f"{changed} of {len(LIBRARIES)} libraries changed; {note}")
            rows.append(row if right else row | {"failed": True})
            summary.write(options.out / "summary.json", rows)
            shutil.rmtree(options.out / "libraries" / mode)  # they are large
    print(summary.table(rows))
    return 0 if all(summary.passed(row) for row in rows) else 1


def scheduled(options: argparse.Namespace, original: dict[str, Path], mode: str) -> dict[str, Path]:
    """The rescheduled libraries of a mode."""
    folder = options.out / "libraries" / mode
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for name, path in original.items():
        begin = time.monotonic()
        target = folder / name
        said = modes.schedule(options.sassafras, path, target, mode, f"--arch {options.arch} {options.extra}")
        (options.out / f"{mode}.{name}.txt").write_text(said)
        print(f"{mode}: {name} rescheduled in {time.monotonic() - begin:.0f} s, {modes.sha256(target)[:12]}", flush=True)
        made[name] = target
    return made


def schedule(options: argparse.Namespace) -> int:
    """Reschedules without running anything."""
    for mode in options.modes.split(","):
        scheduled(options, {name: options.libs / name for name in LIBRARIES}, mode)
    return 0


def run(options: argparse.Namespace) -> int:
    """One run of whatever PyTorch is at hand."""
    processes.run(options.out, options.jobs, rest(options, options.compile), {}, options.limit)
    results = cases.load(options.out)
    print(f"{len(results.operators)} operators, {len(results.cases)} cases, {len(results.deaths)} deaths")
    return 1 if results.deaths else 0


def compare(options: argparse.Namespace) -> int:
    verdict = cases.compare([cases.load(folder) for folder in options.originals], cases.load(options.candidate))
    made = summary.row("operators", options.candidate.name, verdict, options.commit, "")
    print(summary.table([made]))
    return 0 if cases.passed(verdict) else 1


def common(parser: argparse.ArgumentParser, limit: float, samples: int) -> None:
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=max(1, min(14, (os.cpu_count() or 2) - 2)), help="processes")
    parser.add_argument("--samples", type=int, default=samples, help="inputs of each operator and type")
    parser.add_argument("--limit", type=float, default=limit, help="seconds for one run")
    parser.add_argument("--only", help="a regular expression for names of operators")
    parser.add_argument("--fill", type=int, default=1024, help="MiB of free memory that have the same content before every case; 0: as it is")
    parser.set_defaults(turns=1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    p = verbs.add_parser("libraries", help="reschedule PyTorch's libraries, run and compare")
    p.set_defaults(does=libraries)
    common(p, 900, 3)
    for p in (p, verbs.add_parser("schedule", help="only reschedule; no GPU")):
        p.add_argument("--sassafras", type=Path, required=True)
        p.add_argument("--modes", default=MODES)
        p.add_argument("--arch", default="sm_90", help="the code that the GPU loads")
        p.add_argument("--extra", default="", help="more options for sassafras")
        p.add_argument("--commit", default="?", help="stands beside results")
    p.set_defaults(does=schedule)
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--libs", type=Path, required=True)
    verbs.choices["libraries"].add_argument("--daily", action="store_true", help="the operators of a quick look, one input each")
    p = verbs.add_parser("run", help="one run, whatever PyTorch is at hand")
    p.set_defaults(does=run)
    common(p, 900, 3)
    p.add_argument("--compile", action="store_true", help="through torch.compile")
    p = verbs.add_parser("compare", help="compare results; no GPU")
    p.set_defaults(does=compare)
    p.add_argument("--candidate", type=Path, required=True)
    p.add_argument("--commit", default="?")
    p.add_argument("originals", type=Path, nargs="+")
    options = parser.parse_args()
    if getattr(options, "daily", False):
        options.only, options.samples = options.only or DAILY, 1
    return options.does(options)


if __name__ == "__main__":
    sys.exit(main())

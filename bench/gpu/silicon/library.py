#!/usr/bin/env python3
"""One of NVIDIA's own libraries, rescheduled as it lies: are all results that PyTorch gets from it the same bits?

    library.py --sassafras BIN --library PATH --program sparse --out DIR [--modes rebuild,default,shuffle1] [--extra OPTIONS] [--commit C]

PATH is that of a library beside the installed PyTorch. The rescheduled copy stands in its place in a folder of links (shadow.py), and the process says
which file it has in memory.
Programs are the files of `programs/`, each a generator of cases and functions that give tensors. Needs PyTorch with CUDA, no network.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import cases
import modes
import shadow
import summary

MODES = "rebuild,default,shuffle1"
ORIGINALS = 7  # sums by atomics differ now and then: two runs of cuSPARSE called 11 cases steady that seven did not
AGAIN = 9  # more of them, of the cases that differ alone
PROGRAMS = Path(__file__).resolve().parent / "programs"


def worker(program: str, out: Path, name: str, filled: int, only: list[str]) -> None:
    """The process: writes a digest of every result, or of those of some cases."""
    import torch
    from torch.utils._pytree import tree_flatten

    import operator_worker

    torch.backends.cuda.matmul.allow_tf32 = False
    sys.path.insert(0, str(PROGRAMS))
    with open(out, "w", buffering=1) as file:
        for case, function in importlib.import_module(program).results(torch):
            if only and case not in only:
                continue
            try:
                operator_worker.fill(torch, filled)
                record = {"digest": operator_worker.digest(torch, tree_flatten, function())}
            except RuntimeError as error:  # what the library does not take is no matter here
                record = {"error": str(error)[:160]}
            file.write(json.dumps({"case": case} | record) + "\n")
            if operator_worker.lost(record.get("error", "")):
                raise SystemExit(f"{case}: {record['error']}")
        with open("/proc/self/maps") as maps:
            paths = {line.split(maxsplit=5)[5].strip() for line in maps if f"/{name}" in line}
        file.write(json.dumps({"loaded": sorted(paths)}) + "\n")
        file.write(json.dumps({"done": 0}) + "\n")


def run(options: argparse.Namespace, name: str, other: Path | None, only: list[str] | None = None) -> cases.Results:
    """All cases, or some, in a process of their own, with another library in the place of the installed one."""
    folder = options.out / name
    folder.mkdir(parents=True, exist_ok=True)
    package = shadow.installed()
    beside = (options.library.relative_to(package.parent), other) if other else None
    path = shadow.make(options.out / "shadow", package, {}, beside)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(path), os.environ.get("PYTHONPATH")]))}
    begin = time.monotonic()
    words = [sys.executable, __file__, "--worker", options.program, str(folder / "0.jsonl"), options.library.name, str(options.fill), *(only or [])]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=options.limit)
    print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)
    found = cases.load(folder)
    if done.returncode:
        found.deaths.append(f"exit status {done.returncode}: {done.stderr[-300:]}")
    return found


def main() -> int:
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], Path(sys.argv[3]), sys.argv[4], int(sys.argv[5]) << 20, sys.argv[6:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sassafras", type=Path, required=True)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--program", required=True, choices=sorted(path.stem for path in PROGRAMS.glob("*.py")))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--modes", default=MODES)
    parser.add_argument("--arch", default="sm_90", help="the code that the GPU loads")
    parser.add_argument("--extra", default="", help="more options for sassafras")
    parser.add_argument("--commit", default="?", help="stands beside results")
    parser.add_argument("--originals", type=int, default=ORIGINALS, help="runs that tell which cases are steady")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one run")
    parser.add_argument("--fill", type=int, default=1024, help="MiB of free memory that have the same content before every case; 0: as it is")
    options = parser.parse_args()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    originals = [run(options, f"original-{number}", None) for number in range(1, options.originals + 1)]
    rows = []
    for mode in options.modes.split(","):
        target = options.out / "libraries" / mode / options.library.name
        target.parent.mkdir(parents=True, exist_ok=True)
        begin = time.monotonic()
        said = modes.schedule(options.sassafras, options.library, target, mode, f"--arch {options.arch} {options.extra}")
        (options.out / f"{mode}.txt").write_text(said)
        print(f"{mode}: {options.library.name} rescheduled in {time.monotonic() - begin:.0f} s", flush=True)
        found = run(options, mode, target)
        right = found.loaded == {str(target)}
        note = f"ran {options.library.name}" if right else f"LOADED: {', '.join(sorted(found.loaded)) or 'nothing'}"
        verdict = cases.compare(originals, found)
        if verdict["different"]:
            # Inputs are others when other cases are left out: these runs are compared with each other alone.
            again = [run(options, f"again-{mode}-{number}", None, verdict["different"]) for number in range(AGAIN)]
            verdict = cases.without(verdict, again, found, [])
        row = summary.row(options.program, mode, verdict, options.commit, note)
        rows.append(row if right else row | {"failed": True})
        summary.write(options.out / "summary.json", rows)
        target.unlink()  # they are large
    print(summary.table(rows))
    return 0 if all(summary.passed(row) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""PyTorch's operators through torch.compile, with the stand-in for ptxas behind Triton: are all results the same bits?

    compiled.py --sassafras BIN --out DIR [--modes default,shuffle1,shuffle2,shuffle3] [--only RE] [--commit C]

Needs PyTorch with CUDA and Triton, no network. Every run has caches of its own, and compiles in its own processes. What the stand-in wrote
is known only when it ran, so a mode is left out only where the program itself, and all that is asked of it, stayed the same.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from pathlib import Path

import cases
import modes
import operators
import summary

MODES = "default,shuffle1,shuffle2,shuffle3"
ORIGINALS = 3
DAILY = r"^(sum|softmax|log_softmax|sin|lgamma|exp|std|cumsum|argmax|where|gather|nn\.functional\.(gelu|layer_norm|dropout|cross_entropy)|addmm)(\.|$)"

# Inductor times kernels on the device and keeps the faster one: of reductions, and of products whether they are padded. These sum in another
# order, so that a process chooses its bits. Nothing is chosen by timing with these.
STEADY = {"TORCHINDUCTOR_DETERMINISTIC": "1", "TORCHINDUCTOR_SHAPE_PADDING": "0"}


def caches(folder: Path) -> dict[str, str]:
    """Empty caches of a run's own."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return {
        "TRITON_CACHE_DIR": str(folder / "triton"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "SASSAFRAS_CACHE_DIR": str(folder / "sassafras"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    } | STEADY


def real_ptxas() -> str:
    """The ptxas that Triton brings along, found without loading Triton."""
    import importlib.util

    found = importlib.util.find_spec("triton")
    places = found.submodule_search_locations if found else []
    programs = [path for place in places or [] for path in sorted(Path(place).rglob("bin/ptxas"))]
    if not programs:
        raise SystemExit("there is no Triton with a ptxas: torch.compile cannot be run")
    return str(programs[0])


def standin(folder: Path, sassafras: Path, ptxas: str, mode: str, extra: str) -> dict[str, str]:
    """What makes Triton call us."""
    link = folder / "ptxas"
    shutil.copy2(sassafras, link)  # nothing that is built meanwhile may take its place
    return {
        "TRITON_PTXAS_PATH": str(link),
        "TRITON_PTXAS_BLACKWELL_PATH": str(link),
        "SASSAFRAS_PTXAS": ptxas,
        "SASSAFRAS_FLAGS": shlex.join([*modes.flags(mode), "--quiet", *shlex.split(extra)]),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    operators.common(parser, 900, 1)
    parser.add_argument("--sassafras", type=Path, required=True)
    parser.add_argument("--modes", default=MODES)
    parser.add_argument("--extra", default="", help="more options for sassafras")
    parser.add_argument("--commit", default="?", help="stands beside results")
    parser.add_argument("--daily", action="store_true", help="a few operators, and one shuffle")
    options = parser.parse_args()
    if options.daily:
        options.only, options.modes = options.only or DAILY, "default,shuffle1"
    ptxas = real_ptxas()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    hashes = {"ptxas": modes.sha256(Path(ptxas))}
    work = options.out / "caches"
    originals = []
    for number in range(1, ORIGINALS + 1):
        folder, _ = operators.measured(options, f"original-{number}", hashes | {"run": str(number)}, caches(work / f"original-{number}"), True)
        originals.append(cases.load(folder))
    rows = []
    for mode in options.modes.split(","):
        made = caches(work / mode)
        made |= standin(work / mode, options.sassafras, ptxas, mode, options.extra)
        program = {"sassafras": modes.sha256(options.sassafras), "flags": made["SASSAFRAS_FLAGS"]}
        folder, commit = operators.measured(options, mode, hashes | program, made, True)
        cubins = sum(path.is_file() for path in (work / mode / "sassafras").rglob("*"))
        (folder / "cubins.txt").write_text(f"{cubins}\n") if cubins else None
        verdict = operators.judged(options, originals, cases.load(folder), hashes, lambda name: caches(work / name), True)
        known = folder / "cubins.txt"
        note = f"{known.read_text().strip()} cubins of the stand-in" if known.exists() else "NO cubin came from the stand-in"
        rows.append(summary.row("torch.compile", mode, verdict, commit, note) | ({} if known.exists() else {"failed": True}))
        summary.write(options.out / "summary.json", rows)
    print(summary.table(rows))
    return 0 if all(summary.passed(row) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

"""The model's report card: do estimated cycles rank the variants of a kernel as a GPU does?

    card.py make --sassafras BIN --suite DIR --kernels a,b --out DIR      # no GPU: variants and their estimates
    card.py rank --variants DIR/a --measured a.json                       # no GPU: after compare.py --variants-of a DIR/a

Variants are shuffles, policies, steps of the search and parts of what the scheduler does. `make` writes one cubin per variant and
`estimates.json` beside them; `rank` prints, and with --json writes, Spearman's rank correlation of estimate and measured time.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

POLICIES = ["tepid", "height", "reuse", "paced", "early-loads", "store-lines", "steady", "balance", "reverse"]
SMS = 132  # multiprocessors of an H200
FEW = 8  # so many blocks or fewer per multiprocessor say how many warps there are


def recipes(shuffles: int) -> dict[str, list[str]]:
    """Names of variants with the options that make them."""
    made = {policy: ["--strategy", policy] for policy in POLICIES}
    made["rebuild"] = ["--strategy", "original", "--control", "rebuild"]
    for level in (2, 3, 4):
        made[f"level{level}"] = ["--knob", f"tepid-aggressiveness={level}"]
    for block in range(3):
        made[f"reuse-b{block}"] = ["--strategy", "reuse", "--only-block", str(block)]
    for seed in range(1, shuffles + 1):
        made[f"shuffle{seed}"] = ["--strategy", "shuffle", "--seed", str(seed)]
    return made


def launch_option(chosen: dict) -> str:
    """What is known about a launch, for `--launch`."""
    threads, blocks = (math.prod(chosen[key]) for key in ("block", "grid"))
    option = f"block={threads},smem={chosen.get('shared', 0)}"
    per_sm = -(-blocks // SMS)
    return option + (f",blocks-per-sm={per_sm}" if per_sm <= FEW else "")


def estimate(sassafras: Path, cubin: Path, entry: str, launch: str) -> int | None:
    """The cycles of the model for the kernel as it stands in a cubin."""
    command = [sassafras, "schedule", cubin, "--strategy", "original", "--control", "rebuild", "--launch", launch, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return cycles_of(json.loads(done.stdout), entry)


def cycles_of(report: dict, entry: str) -> int | None:
    """The cycles of a kernel in what `schedule --json` said, if it says any."""
    for kernel in report["kernels"]:
        if kernel["name"] == entry and kernel["kept"] is None and kernel["cycles"]:
            return kernel["cycles"]["before"]
    return None


def make(options: argparse.Namespace) -> None:
    manifest = json.loads((options.suite / "manifest.json").read_text())
    for name in options.kernels:
        kernel = manifest["kernels"][name]
        folder = options.out / name
        folder.mkdir(parents=True, exist_ok=True)
        launches = {n: l["sets"][0] for n, l in manifest["launches"].items() if l["kernel"] == name}
        estimates: dict[str, dict[str, int]] = {}
        files: dict[bytes, str] = {}
        for variant, arguments in recipes(options.shuffles).items():
            cubin = folder / f"{variant}.cubin"
            command = [options.sassafras, "schedule", options.suite / kernel["cubin"], *arguments, "-o", cubin]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{name}, {variant}: {done.stderr.strip()}")
            data = cubin.read_bytes()
            # The same code twice would count twice.
            if data in files:
                cubin.unlink()
                continue
            cycles = {n: estimate(options.sassafras, cubin, kernel["entry"], launch_option(s)) for n, s in launches.items()}
            if None in cycles.values():
                sys.exit(f"{name}, {variant}: the model says nothing")
            files[data] = variant
            estimates[variant] = cycles
        (folder / "estimates.json").write_text(json.dumps(estimates, indent=1))
        print(f"{name}: {len(estimates)} variants")


def ranks(values: list[float]) -> list[float]:
    """Ranks from 1 on; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            result[place] = (start + end + 1) / 2
        start = end
    return result


def spearman(a: list[float], b: list[float]) -> float:
    """The correlation of ranks; nan where one side is all the same."""
    a, b = ranks(a), ranks(b)
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    products = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b))
    squares = sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b)
    return products / squares**0.5 if squares > 0 else float("nan")


def rank(options: argparse.Namespace) -> None:
    estimates = json.loads((options.variants / "estimates.json").read_text())
    measured = json.loads(options.measured.read_text())
    card = {}
    for launch in sorted({entry["launch"] for entry in measured}):
        entries = [entry for entry in measured if entry["launch"] == launch]
        timed = {
            entry["variant"]: entry["ratio"]["median"]
            for entry in entries
            if entry.get("ratio") and entry["variant"] in estimates
        }
        names = sorted(timed, key=timed.__getitem__)
        if len(names) < 2:
            sys.exit(f"{launch}: {len(names)} variants were timed, nothing to rank")
        correlation = spearman([estimates[name][launch] for name in names], [timed[name] for name in names])
        wrong = sum(not entry.get("identical", True) for entry in entries)
        card[launch] = {"variants": len(names), "wrong": wrong, "spearman": correlation}
        print(f"{launch}: {len(names)} variants, {wrong} wrong, rank correlation {correlation:.3f}")
        for name in names:
            print(f"  {name:16} {estimates[name][launch]:>12} cycles  {timed[name]:.4f} of the original's time")
    if options.json:
        options.json.write_text(json.dumps(card, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    maker = commands.add_parser("make")
    maker.add_argument("--sassafras", type=Path, required=True)
    maker.add_argument("--suite", type=Path, required=True)
    maker.add_argument("--kernels", type=lambda text: text.split(","), required=True)
    maker.add_argument("--out", type=Path, required=True)
    maker.add_argument("--shuffles", type=int, default=26)
    maker.set_defaults(run=make)
    ranker = commands.add_parser("rank")
    ranker.add_argument("--variants", type=Path, required=True)
    ranker.add_argument("--measured", type=Path, required=True)
    ranker.add_argument("--json", type=Path)
    ranker.set_defaults(run=rank)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What bounds each kernel of the suite, by Nsight Compute's counters.

    ncu.py --manifest DIR/manifest.json [--cubins DIR] [--kernels a,b] [--json OUT] [--ncu ncu]
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import manifest

ONCE = Path(__file__).with_name("profile_once.py")
# Short name: candidates, the first that this ncu knows is taken (names differ between chips).
ACTIVE, ELAPSED = "avg.pct_of_peak_sustained_active", "avg.pct_of_peak_sustained_elapsed"
METRICS = {
    "ns": ["gpu__time_duration.sum"],
    "issue": [f"smsp__issue_active.{ACTIVE}"],
    "warps": [f"sm__warps_active.{ACTIVE}"],
    "fma": [f"sm__inst_executed_pipe_fma.{ACTIVE}"],
    "alu": [f"sm__inst_executed_pipe_alu.{ACTIVE}"],
    "lsu": [f"sm__inst_executed_pipe_lsu.{ACTIVE}"],
    "xu": [f"sm__inst_executed_pipe_xu.{ACTIVE}"],
    "fp64": [f"sm__inst_executed_pipe_fp64.{ACTIVE}"],
    "tensor": [f"sm__pipe_tensor_cycles_active.{ACTIVE}", f"sm__inst_executed_pipe_tensor.{ACTIVE}"],
    "dram": [f"dram__throughput.{ELAPSED}"],
    "l2": [f"lts__t_sectors.{ELAPSED}"],
    "l1": [f"l1tex__data_pipe_lsu_wavefronts.{ELAPSED}"],
    "shared_conflicts": ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"],
    "instructions": ["smsp__inst_executed.sum"],
}
RATES = ("issue", "fma", "alu", "lsu", "xu", "fp64", "tensor", "dram", "l2", "l1")
BUSY = 60.0  # per cent above which a unit is said to bound the kernel


def known_metrics(ncu: str) -> set[str]:
    """The bases of metrics (what stands before the first dot) that this ncu has."""
    text = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True).stdout
    return {line.split()[0] for line in text.splitlines() if "__" in line[:60]}


def choose(known: set[str]) -> dict[str, str]:
    chosen = {}
    for short, candidates in METRICS.items():
        for candidate in candidates:
            if candidate.split(".")[0] in known:
                chosen[short] = candidate
                break
    return chosen


def values(report: str, chosen: dict[str, str]) -> dict[str, float]:
    """The last launch's values from ncu's raw page in CSV: a row of names, one of units, one per launch."""
    rows = list(csv.reader(line for line in report.splitlines() if line.startswith('"')))
    if len(rows) < 3:
        raise ValueError("no launch in ncu's report")
    units, found = dict(zip(rows[0], rows[1])), dict(zip(rows[0], rows[-1]))
    numbers = {}
    for short, metric in chosen.items():
        try:
            numbers[short] = float(found[metric].replace(",", ""))
        except (KeyError, ValueError):
            continue
        if short == "ns":
            numbers[short] *= {"us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6}.get(units[metric], 1.0)
    return numbers


def bound(numbers: dict[str, float]) -> str:
    """In words: the busiest unit, or latency where none is busy."""
    rates = {name: numbers[name] for name in RATES if name in numbers}
    if not rates:
        return "unknown"
    name = max(rates, key=rates.__getitem__)
    return name if rates[name] >= BUSY else f"latency (most: {name})"


def profile(options: argparse.Namespace, launch: manifest.Launch, chosen: dict[str, str]) -> dict[str, float]:
    cubin = (options.cubins or options.manifest.parent) / launch.cubin
    command = [
        options.ncu, "--csv", "--page", "raw", "--clock-control", "none", "--metrics", ",".join(chosen.values()),
        "--kernel-name", launch.entry, "--launch-skip", "1", "--launch-count", "1", sys.executable, str(ONCE),
        "--manifest", str(options.manifest), "--launch", launch.name, "--cubin", str(cubin),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    try:
        return values(done.stdout, chosen)
    except ValueError as error:
        raise ValueError(f"{error}: {(done.stdout + done.stderr).strip()[-400:]}") from None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--cubins", type=Path, help="default: the manifest's folder")
    parser.add_argument("--kernels", type=lambda text: text.split(","))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--ncu", default="ncu")
    options = parser.parse_args()
    if not shutil.which(options.ncu):
        print(f"ncu.py: no {options.ncu}", file=sys.stderr)
        return 2
    chosen, results = choose(known_metrics(options.ncu)), {}
    print(f"not known here: {sorted(METRICS.keys() - chosen.keys()) or 'none'}")
    for launch in manifest.load(options.manifest).select(options.kernels):
        try:
            numbers = profile(options, launch, chosen)
        except (ValueError, subprocess.TimeoutExpired) as error:
            print(f"{launch.name:20} {error}", flush=True)
            results[launch.name] = {"error": str(error)}
            continue
        rates = " ".join(f"{name} {numbers[name]:.0f}" for name in (*RATES, "warps") if name in numbers)
        print(f"{launch.name:20} {numbers.get('ns', 0) / 1000:9.1f} us  {bound(numbers):24} {rates}", flush=True)
        results[launch.name] = {"bound": bound(numbers), **numbers}
    if options.json:
        options.json.write_text(json.dumps({"metrics": chosen, "results": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

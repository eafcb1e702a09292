#!/usr/bin/env python3
"""Does `sassafras analyze` see what a GPU does? Cycles per iteration of hot loops and the busiest unit, against Nsight Compute.

    hot.py measure --manifest DIR/manifest.json --out DIR [--kernels a,b] [--ncu ncu]        # on the GPU: counters per instruction
    hot.py card --manifest DIR/manifest.json --sassafras BIN --measured DIR [--json OUT]     # anywhere: model against measurement

`measure` keeps ncu's raw page and its source page of every launch as CSV. From these `card` takes how often each instruction was
executed and how often warps were sampled at it. The hottest loop is the innermost one that most samples fall into; an iteration of it takes the
active cycles of a scheduler, times the loop's share of the samples, over the iterations that a scheduler ran.
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
from card import launch_option, spearman

ONCE = Path(__file__).with_name("profile_once.py")
SCHEDULERS = 4 * 132  # of an H200
PEAK = "avg.pct_of_peak_sustained_active"
# ncu's name of a pipe: the unit of the guidance. Both halves of the multiply-add pipe are one unit here.
PIPES = {
    "sm__inst_executed_pipe_adu": "ADU",
    "sm__inst_executed_pipe_alu": "ALU",
    "sm__inst_executed_pipe_cbu": "CBU",
    "sm__inst_executed_pipe_fma": "FMA",
    "sm__inst_executed_pipe_fmalite": "FMA",
    "sm__pipe_fmaheavy_cycles_active": "FMA",
    "sm__inst_executed_pipe_lsu": "LSU",
    "sm__inst_executed_pipe_xu": "XU",
    "sm__inst_executed_pipe_fp64": "FP64",
    "sm__pipe_tensor_cycles_active": "TENSOR",
    "sm__inst_executed_pipe_tex": "TEX",
    "sm__inst_executed_pipe_uniform": "UDP",
}
SAME = {"FMA2x": "FMA", "HALF": "FMA"}  # what shares a pipe with the other on sm_90
CYCLES = "smsp__cycles_active.avg"
SECTIONS = ["SourceCounters", "ComputeWorkloadAnalysis"]


def measure(options: argparse.Namespace) -> int:
    if not shutil.which(options.ncu):
        print(f"hot.py: no {options.ncu}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    metrics = ",".join([f"{pipe}.{PEAK}" for pipe in PIPES] + [CYCLES])
    for launch in manifest.load(options.manifest).select(options.kernels):
        report = options.out / f"{launch.name}.ncu-rep"
        command = [options.ncu, "-f", "-o", str(report), "--clock-control", "none", "--metrics", metrics]
        command += [word for section in SECTIONS for word in ("--section", section)]
        command += ["--kernel-name", launch.entry, "--launch-skip", "1", "--launch-count", "1", sys.executable, str(ONCE)]
        command += ["--manifest", str(options.manifest), "--launch", launch.name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode or not report.exists():
            print(f"{launch.name}: {(done.stdout + done.stderr).strip()[-400:]}", flush=True)
            continue
        for page, more in (("raw", []), ("source", ["--print-source", "sass"])):
            shown = [options.ncu, "--import", str(report), "--page", page, "--csv", *more]
            text = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
            (options.out / f"{launch.name}.{page}.csv").write_text(text)
        report.unlink()
        print(launch.name, flush=True)
    return 0


def number(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0


def counters(text: str) -> dict[str, float]:
    """Names and values of ncu's raw page: a row of names, one of units, one per launch."""
    rows = [row for row in csv.reader(text.splitlines()) if len(row) > 10]
    if len(rows) < 3:
        raise ValueError("no launch in ncu's report")
    return {name: number(value) for name, value in zip(rows[0], rows[-1])}


def samples(text: str) -> list[tuple[float, float]]:
    """By instruction of ncu's source page, in the order of the code: how often it was executed, and sampled."""
    rows = list(csv.reader(text.splitlines()))
    head = next((i for i, row in enumerate(rows) if row and row[0] == "Address"), None)
    if head is None:
        raise ValueError("no instructions in ncu's report")
    executed, sampled = (rows[head].index(name) for name in ("Instructions Executed", "# Samples"))
    return [(number(row[executed]), number(row[sampled])) for row in rows[head + 1 :] if len(row) == len(rows[head])]


def busiest(values: dict[str, float]) -> tuple[str, float]:
    """The unit whose pipe ncu finds busiest, and how busy it is in per cent."""
    rates = [(values.get(f"{pipe}.{PEAK}", 0.0), unit) for pipe, unit in PIPES.items()]
    rate, unit = max(rates)
    return unit, rate


def hottest(kernel: dict, counts: list[tuple[float, float]]) -> tuple[dict, float] | None:
    """The innermost loop that most samples fall into, with their share."""
    total = sum(sampled for _, sampled in counts)
    of_block: dict[int, float] = {}
    for row, (_, sampled) in zip(kernel["instructions"], counts):
        of_block[row["block"]] = of_block.get(row["block"], 0.0) + sampled
    shares = []
    for loop in kernel["loops"]:
        inner = [other for other in kernel["loops"] if other["depth"] > loop["depth"] and set(other["blocks"]) <= set(loop["blocks"])]
        if not inner:
            shares.append((sum(of_block.get(block, 0.0) for block in loop["blocks"]), -loop["offset"], loop))
    if not shares or not total:
        return None
    share, _, loop = max(shares, key=lambda entry: entry[:2])
    return loop, share / total


def iteration(kernel: dict, counts: list[tuple[float, float]], cycles: float) -> tuple[dict, float, float] | None:
    """The hottest loop, its share of the time, and measured cycles per iteration of a scheduler."""
    found = hottest(kernel, counts)
    if not found:
        return None
    loop, share = found
    first = next(i for i, row in enumerate(kernel["instructions"]) if row["offset"] == loop["offset"])
    times = counts[first][0] / SCHEDULERS
    return (loop, share, cycles * share / times) if times else None


def analyzed(options: argparse.Namespace, launch: manifest.Launch, chosen: dict) -> dict:
    command = [options.sassafras, "analyze", options.manifest.parent / launch.cubin, "--launch", launch_option(chosen), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return next(kernel for kernel in json.loads(done.stdout)["kernels"] if kernel["name"] == launch.entry)


def card(options: argparse.Namespace) -> int:
    plain = json.loads(options.manifest.read_text())
    rows, agree = [], 0
    for launch in manifest.load(options.manifest).select(options.kernels):
        try:
            values = counters((options.measured / f"{launch.name}.raw.csv").read_text())
            counts = samples((options.measured / f"{launch.name}.source.csv").read_text())
        except (OSError, ValueError) as error:
            print(f"{launch.name}: {error}")
            continue
        kernel = analyzed(options, launch, plain["launches"][launch.name]["sets"][0])
        unit, rate = busiest(values)
        found = iteration(kernel, counts, values[CYCLES])
        units = found[0]["units"] if found else kernel["units"]
        named = SAME.get(units["bottleneck"], units["bottleneck"])
        agree += named == unit
        entry = {"launch": launch.name, "unit": named, "ncu_unit": unit, "ncu_rate": rate, "bound_by": kernel["bound_by"]}
        line = f"{launch.name:20} unit {named or '-':6} ncu {unit:6} {rate:5.1f} %"
        if found:
            loop, share, cycles = found
            entry |= {"share": share, "model": loop["cycles"], "measured": cycles, "error": loop["cycles"] / cycles - 1}
            line += f"  loop {loop['offset']:#6x} {100 * share:5.1f} % of samples  model {loop['cycles']:8.1f}"
            line += f"  measured {cycles:8.1f}  {100 * entry['error']:+6.1f} %"
        rows.append(entry)
        print(line)
    timed = [row for row in rows if "model" in row]
    rank = spearman([row["model"] for row in timed], [row["measured"] for row in timed])
    errors = sorted(abs(row["error"]) for row in timed)
    print(f"busiest unit as ncu has it: {agree} of {len(rows)}")
    print(f"cycles per iteration of {len(timed)} loops: rank correlation {rank:.3f}, median error {100 * errors[len(errors) // 2]:.1f} %")
    if options.json:
        options.json.write_text(json.dumps({"agree": agree, "spearman": rank, "launches": rows}, indent=1) + "\n")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, work in (("measure", measure), ("card", card)):
        command = commands.add_parser(name)
        command.set_defaults(work=work)
        command.add_argument("--manifest", type=Path, required=True)
        command.add_argument("--kernels", type=lambda text: text.split(","))
        if work is measure:
            command.add_argument("--out", type=Path, required=True)
            command.add_argument("--ncu", default="ncu")
        else:
            command.add_argument("--sassafras", type=Path, required=True)
            command.add_argument("--measured", type=Path, required=True)
            command.add_argument("--json", type=Path)
    options = parser.parse_args()
    return options.work(options)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The benchmark suite in several orders: are all results the same bits? Times nothing.

    suite.py --sassafras BIN --manifest DIR/manifest.json --out DIR [--modes default,shuffle1,…] [--kernels a,b] [--dry]

Reschedules every cubin of the suite, runs it through bench/gpu/compare, and writes rows as rare.py does (`result.json`, build `suite`), with
the originals in `cubins/` and the rescheduled ones in `cubins/scheduled/`, so that the coverage table can be made of both.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import modes

COMPARE = Path(__file__).resolve().parents[1] / "compare" / "compare.py"
MODES = "rebuild,default,shuffle1,shuffle2,shuffle3,shuffle4,shuffle5"
BUILD = "suite"


def statuses(launches: dict, results: dict, changed: dict[str, set[str]]) -> list[dict]:
    """A row per kernel and mode, from compare.py's results per launch: the worst of a kernel's launches counts."""
    rows = []
    kernels = {launch["kernel"] for launch in launches.values()}
    for kernel in sorted(kernels):
        own = {name: results[name] for name, launch in launches.items() if launch["kernel"] == kernel and name in results}
        if not own:
            continue
        for mode, touched in changed.items():
            status, note = "equal", ""
            for name, result in own.items():
                if kernel not in touched:
                    status = "same"
                elif "error" in result or not result["deterministic"]:
                    status, note = "unstable", f"{name}: {result.get('error', 'the original differs from itself')}"
                elif result["variants"][mode]["error"]:
                    error = result["variants"][mode]["error"]
                    status, note = "hang" if error.startswith("hang") else "error", f"{name}: {error}"
                elif not result["variants"][mode]["identical"]:
                    status, note = "different", f"{name}: {result['variants'][mode].get('differences')}"
                if status not in ("equal", "same"):
                    break
            rows.append({"kernel": kernel, "build": BUILD, "mode": mode, "status": status, "note": note})
    return rows


def reschedule(options: argparse.Namespace, kernels: dict) -> dict[str, set[str]]:
    """The kernels that each mode changed; variants are laid out as compare.py wants them."""
    store = options.out / "cubins"
    (store / "scheduled").mkdir(parents=True, exist_ok=True)
    changed: dict[str, set[str]] = {mode: set() for mode in options.modes.split(",")}

    def one(task: tuple[str, str, str]) -> tuple[str, str, bool]:
        name, cubin, mode = task
        source = options.manifest.parent / cubin
        target = store / "scheduled" / f"{name}.{BUILD}.{mode}.cubin"
        modes.schedule(options.sassafras, source, target, mode, f"-j 1 {options.extra}")
        folder = options.out / mode
        folder.mkdir(exist_ok=True)
        is_new = target.read_bytes() != source.read_bytes()
        if is_new:
            shutil.copyfile(target, folder / cubin)
        return mode, name, is_new

    tasks = []
    for name, kernel in kernels.items():
        shutil.copyfile(options.manifest.parent / kernel["cubin"], store / f"{name}.{BUILD}.cubin")
        tasks += [(name, kernel["cubin"], mode) for mode in changed]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for mode, name, is_new in pool.map(one, tasks):
            if is_new:
                changed[mode].add(name)
    return changed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sassafras", type=Path, required=True)
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--modes", default=MODES)
    parser.add_argument("--kernels", type=lambda text: text.split(","), help="of the suite")
    parser.add_argument("--extra", default="", help="more options for sassafras")
    parser.add_argument("--dry", action="store_true", help="only reschedule")
    options = parser.parse_args()
    if options.out.exists():
        shutil.rmtree(options.out)
    options.out.mkdir(parents=True)
    manifest = json.loads(options.manifest.read_text())
    launches = {name: launch for name, launch in manifest["launches"].items() if not options.kernels or launch["kernel"] in options.kernels}
    kernels = {name: manifest["kernels"][name] for name in sorted({launch["kernel"] for launch in launches.values()})}
    changed = reschedule(options, kernels)
    print("; ".join(f"{mode}: {len(touched)} of {len(kernels)} kernels changed" for mode, touched in changed.items()), flush=True)
    if options.dry:
        return 0
    result = options.out / "compare.json"
    words = [sys.executable, COMPARE, "--manifest", options.manifest, "--correctness-only", "--json", result, "--kernels", ",".join(kernels)]
    for mode in changed:
        words += ["--variant", f"{mode}={options.out / mode}"]
    subprocess.run([str(word) for word in words], check=False)
    if not result.exists():
        print("bench/gpu/compare wrote no result", file=sys.stderr)
        return 2
    rows = statuses(launches, json.loads(result.read_text())["results"], changed)
    (options.out / "result.json").write_text(json.dumps(rows, indent=1) + "\n")
    bad = [row for row in rows if row["status"] not in ("equal", "same")]
    print(f"{len(rows)} runs, {sum(row['status'] == 'equal' for row in rows)} equal, {len(bad)} not as they should be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

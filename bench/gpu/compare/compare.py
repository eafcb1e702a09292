#!/usr/bin/env python3
"""Compares variants of the suite's cubins with the originals on a GPU: the same bits, and how long. Needs the driver and NumPy.

    compare.py --manifest DIR/manifest.json --original DIR --variant NAME=DIR ... [--kernels a,b] [--rounds 31]
               [--inputs 3] [--json OUT] [--correctness-only]
    compare.py --manifest DIR/manifest.json --original DIR --variants-of KERNEL DIR [--json OUT]
    compare.py --manifest DIR/manifest.json --original DIR --dry-run

Every launch runs in a process of its own; a variant that crashes or hangs is reported, and the rest goes on without it.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

import manifest
import stats
from manifest import Launch, Manifest, ManifestError

WORKER = Path(__file__).with_name("worker.py")
ORIGINAL, AGAIN = "original", "again"


# The worker process.


class Worker:
    """A worker and a thread that reads what it prints."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.process.stdin.write(json.dumps(job))
        self.process.stdin.close()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def outcome(self, timeout: float) -> dict[str, Any]:
        """The last message; {"failed": variant or None, "error": ...} where there is no result."""
        variant, doing = None, "start"
        while True:
            try:
                line = self.lines.get(timeout=timeout)
            except queue.Empty:
                return {"failed": variant, "error": f"hang ({doing})"}
            if line is None:
                return {"failed": variant, "error": f"the worker ended ({doing})"}
            message = json.loads(line)
            if "doing" not in message:
                return message
            variant, doing = message["variant"], message["doing"]

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


def run_launch(job: dict[str, Any], timeout: float) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """(the result, errors of variants); without a result the original itself is to blame."""
    errors: dict[str, str] = {}
    while True:
        left = {name: path for name, path in job["variants"].items() if name not in errors}
        worker = Worker({**job, "variants": left})
        try:
            outcome = worker.outcome(timeout)
        finally:
            worker.end()
        if "result" in outcome:
            return outcome["result"], errors
        blamed = outcome["failed"]
        if blamed not in left:
            return None, errors | {ORIGINAL: outcome["error"]}
        errors[blamed] = outcome["error"]


# The verdict.


def judge(result: dict[str, Any], errors: dict[str, str], names: list[str]) -> dict[str, Any]:
    """What is reported of one launch, from the worker's result."""
    samples = result.get("samples", {})
    found: dict[str, Any] = {
        "inputs_wrong": result["inputs_wrong"],
        "outputs": [s["outputs"] for s in result["sets"]],
        "deterministic": not differences(result, AGAIN),
        "variants": {name: judge_variant(result, name, errors.get(name)) for name in names},
    }
    if samples:
        found["original_us"] = median(samples[ORIGINAL])
        found["noise"] = stats.spread(stats.ratios(samples[AGAIN], samples[ORIGINAL])).as_dict()
        found["samples"] = samples
    return found


def differences(result: dict[str, Any], name: str) -> dict[str, Any]:
    """Where outputs of a variant differ: by input set, or while timing."""
    found = {f"set {i}": s["differences"][name] for i, s in enumerate(result["sets"]) if name in s["differences"]}
    if name in result.get("timing_differences", {}):
        found["timing"] = result["timing_differences"][name]
    return found


def judge_variant(result: dict[str, Any], name: str, error: str | None) -> dict[str, Any]:
    if error is not None:
        return {"identical": False, "error": error}
    wrong = differences(result, name)
    found: dict[str, Any] = {"identical": not wrong, "error": None}
    if wrong:
        found["differences"] = wrong
    samples = result.get("samples", {})
    if name in samples:
        found["us"] = median(samples[name])
        found["ratio"] = stats.spread(stats.ratios(samples[name], samples[ORIGINAL])).as_dict()
    return found


def geomeans(results: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Speed-ups over the launches where a variant is right, and over all with the original kept where it is not."""
    found = {}
    for name in names:
        entries = [r["variants"][name] for r in results.values() if name in r.get("variants", {})]
        right = [e["ratio"]["median"] for e in entries if e["identical"] and "ratio" in e]
        if right:
            kept = [1.0] * (len(entries) - len(right))
            found[name] = {
                "speedup": 1 / stats.geomean(right), "launches": len(right), "speedup_all": 1 / stats.geomean(right + kept),
                "best_of_both": 1 / stats.geomean([min(r, 1.0) for r in right] + kept),
                "wrong": sum(not e["identical"] for e in entries),
            }  # fmt: skip
    return found


# What is printed.


def header(names: list[str]) -> str:
    return f"{'kernel':20} {'orig us':>9} {'A/A noise':>22}" + "".join(f" {name[:24]:>24}" for name in names)


def cell(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "-"
    if entry["error"]:
        return entry["error"].removeprefix("cuCtxSynchronize: CUDA_ERROR_")[:24]
    verdict = "same" if entry["identical"] else "WRONG"
    if "ratio" not in entry:
        return verdict
    ratio = entry["ratio"]
    return f"{ratio['median']:.4f} ({ratio['low']:.3f}-{ratio['high']:.3f}) {verdict}"


def row(name: str, found: dict[str, Any], names: list[str]) -> str:
    if "error" in found:
        return f"{name:20} ORIGINAL FAILED: {found['error']}"
    time_, noise = "", ""
    if "noise" in found:
        n = found["noise"]
        time_, noise = f"{found['original_us']:.1f}", f"{n['median']:.4f} ({n['low']:.3f}-{n['high']:.3f})"
    text = f"{name:20} {time_:>9} {noise:>22}" + "".join(f" {cell(found['variants'].get(v)):>24}" for v in names)
    remarks = [] if found["deterministic"] else ["the original differs from itself"]
    remarks += [f"inputs differ from the CPU's: {found['inputs_wrong']}"] if found["inputs_wrong"] else []
    return text + "".join(f"  [{remark}]" for remark in remarks)


# Modes.


def job_for(options: argparse.Namespace, found: Manifest, launch: Launch, variants: dict[str, Path]) -> dict[str, Any]:
    return {
        "manifest": str(found.path), "launch": launch.name, "original": str(options.original / launch.cubin),
        "variants": {name: str(path) for name, path in variants.items()}, "inputs": options.inputs,
        "rounds": 0 if options.correctness_only else options.rounds, "repetitions": options.repetitions,
        "check_inputs": options.check_inputs, "time_wrong": options.time_wrong,
    }  # fmt: skip


def measure(options: argparse.Namespace, found: Manifest, launch: Launch, variants: dict[str, Path]) -> dict[str, Any]:
    """One launch with its variants."""
    begin = time.monotonic()
    result, errors = run_launch(job_for(options, found, launch, variants), options.timeout)
    if result is None:
        return {"error": errors[ORIGINAL]}
    verdict = judge(result, errors, list(variants))
    return {"device": result["device"], "seconds": time.monotonic() - begin, **verdict}


def compare(options: argparse.Namespace, found: Manifest) -> tuple[Any, bool]:
    """The suite with each folder of variants; (what is written, whether all is well)."""
    names, results = list(options.variants), {}
    print(header(names), flush=True)
    for launch in found.select(options.kernels):
        variants = {n: path for n, folder in options.variants.items() if (path := folder / launch.cubin).exists()}
        results[launch.name] = measure(options, found, launch, variants)
        print(row(launch.name, results[launch.name], names), flush=True)
    means = geomeans(results, names)
    for name, mean in means.items():
        print(
            f"{name}: geomean speed-up {mean['speedup']:.4f} over {mean['launches']} launches; {mean['speedup_all']:.4f} over "
            f"all with the original where wrong ({mean['wrong']}); {mean['best_of_both']:.4f} with the better of both"
        )
    well = all(
        "error" not in r and r["deterministic"] and all(v["identical"] for v in r["variants"].values()) for r in results.values()
    )
    return {"rounds": options.rounds, "results": results, "geomean": means}, well


def variants_of(options: argparse.Namespace, found: Manifest) -> tuple[Any, bool]:
    """Every cubin of a folder as a variant of one kernel: a list, fastest first."""
    kernel, folder = options.variants_of
    cubins = {path.stem: path for path in sorted(Path(folder).glob("*.cubin"))}
    if not cubins:
        raise ManifestError(f"no cubin in {folder}")
    listed = []
    for launch in found.select([kernel]):
        result = measure(options, found, launch, cubins)
        if "error" in result:
            raise ManifestError(f"{launch.name}: the original failed: {result['error']}")
        noise = result.get("noise")
        print(f"{launch.name}: original {result.get('original_us', 0):.2f} us, A/A {noise}", flush=True)
        entries = [{"launch": launch.name, "variant": name, **entry} for name, entry in result["variants"].items()]
        entries.sort(key=lambda e: e.get("us", float("inf")))
        for entry in entries:
            print(f"  {entry['variant']:40} {entry.get('us', 0):10.2f} us {cell(entry)}")
        listed += [{"launch": launch.name, "variant": ORIGINAL, "us": result.get("original_us"), "noise": noise}, *entries]
    return listed, all(e.get("identical", True) for e in listed)


def dry_run(options: argparse.Namespace, found: Manifest) -> tuple[Any, bool]:
    """Everything that can be checked without a GPU: files, hashes, inputs (the beginning of each, made by NumPy)."""
    import numpy

    from session import inputs

    for launch in found.select(options.kernels):
        manifest.check_original(launch, options.original)
        for number, chosen in enumerate(launch.sets[: options.inputs]):
            for place, argument in enumerate(chosen.arguments):
                if argument.fill is None:
                    continue
                kind, a, b = (argument.fill[key] for key in ("kind", "a", "b"))
                data = inputs.generate(argument.type, min(argument.count, 4096), kind, argument.seed, a, b)
                if argument.type[0] == "f" and not numpy.isfinite(data).all():
                    raise ManifestError(f"{launch.name}, set {number}, argument {place}: not finite")
        size = max(sum(2 * a.size if a.written else a.size for a in s.arguments) for s in launch.sets)
        absent = [name for name, folder in options.variants.items() if not (folder / launch.cubin).exists()]
        print(f"{launch.name:20} {len(launch.sets)} input sets, {size / 2**20:6.0f} MiB; variants absent: {absent or 'none'}")
    return None, True


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--original", type=Path, help="default: the manifest's folder")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--variants-of", nargs=2, metavar=("KERNEL", "DIR"))
    parser.add_argument("--kernels", type=lambda text: text.split(","))
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--inputs", type=int, default=3, help="how many input sets")
    parser.add_argument("--repetitions", type=int, default=3, help="runs per input set that are compared")
    parser.add_argument("--timeout", type=float, default=60, help="seconds without a sign of life")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--correctness-only", action="store_true")
    parser.add_argument("--time-wrong", action="store_true", help="time variants with other results, too")
    parser.add_argument("--check-inputs", action="store_true", help="compare inputs made on the GPU with the CPU's")
    parser.add_argument("--dry-run", action="store_true", help="without a GPU")
    options = parser.parse_args()
    options.original = options.original or options.manifest.parent
    pairs = [text.partition("=") for text in options.variant]
    if any(not sign or name in (ORIGINAL, AGAIN) for name, sign, _ in pairs):
        parser.error("--variant takes NAME=DIR, with a name of its own")
    options.variants = {name: Path(folder) for name, _, folder in pairs}
    return options


def main() -> int:
    options = arguments()
    mode = dry_run if options.dry_run else variants_of if options.variants_of else compare
    try:
        found = manifest.load(options.manifest)
        for launch in found.select(options.kernels):
            manifest.check_original(launch, options.original)
        data, well = mode(options, found)
    except ManifestError as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    if options.json and data is not None:
        options.json.write_text(json.dumps(data, indent=1) + "\n")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What the stand-in adds to the time of ptxas: calls in turn of ptxas, of the stand-in with its cache, and of the stand-in without.

    time.py --ptxas FILE --sassafras FILE --arch sm_90 [--rounds 15] FILES.ptx...

Sums of medians over the files, in wall time and in processor time. No GPU is needed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median


def call(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds of wall and of processor."""
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, environment, file_actions=quiet)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    if status:
        raise SystemExit(f"{command[0]} ended with {status}")
    return wall, usage.ru_utime + usage.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ptxas", type=Path, required=True)
    parser.add_argument("--sassafras", type=Path, required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="standin-") as text:
        folder = Path(text)
        link = folder / "ptxas"
        link.symlink_to(options.sassafras.resolve())
        common = os.environ | {"SASSAFRAS_PTXAS": str(options.ptxas.resolve()), "SASSAFRAS_CACHE_DIR": str(folder / "cache")}
        ways = {
            "ptxas": (str(options.ptxas), common),
            "from the cache": (str(link), common),
            "anew": (str(link), common | {"SASSAFRAS_FLAGS": "--no-cache"}),
            "anew, standard": (str(link), common | {"SASSAFRAS_FLAGS": "--no-cache --effort standard"}),
        }
        sums = {name: [0.0, 0.0] for name in ways}
        for file in options.files:
            command = [f"-arch={options.arch}", str(file), "-o", str(folder / "out.cubin")]
            call([str(link), *command], common)
            samples = {name: [] for name in ways}
            for number in range(options.rounds):
                for name, (program, environment) in ways.items():
                    if name == "anew, standard" and number > 2:
                        continue
                    samples[name].append(call([program, *command], environment))
            row = {name: [median(part) for part in zip(*taken)] for name, taken in samples.items()}
            for name, medians in row.items():
                sums[name] = [a + b for a, b in zip(sums[name], medians)]
            print(f"{file.stem:24}", "  ".join(f"{name} {1000 * wall:7.1f} ms" for name, (wall, _) in row.items()), flush=True)
    for place, kind in enumerate(("wall", "processor")):
        base = sums["ptxas"][place]
        shown = (f"{name} {1000 * s[place]:.0f} ms ({100 * (s[place] / base - 1):+.1f} %)" for name, s in sums.items())
        print(f"{kind}:", ", ".join(shown))
    return 0


if __name__ == "__main__":
    sys.exit(main())

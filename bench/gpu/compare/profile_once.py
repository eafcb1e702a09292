#!/usr/bin/env python3
"""Launches one kernel of the suite a few times, for a profiler to look at.

    profile_once.py --manifest DIR/manifest.json --launch NAME [--cubin FILE] [--set 0] [--times 2]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import manifest
from driver import Driver
from session import Session, Support, load_functions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--launch", required=True)
    parser.add_argument("--cubin", type=Path, help="default: the original")
    parser.add_argument("--set", type=int, default=0)
    parser.add_argument("--times", type=int, default=2)
    options = parser.parse_args()
    found = manifest.load(options.manifest)
    launch = found.launches[options.launch]
    cubin = options.cubin or options.manifest.parent / launch.cubin
    driver = Driver()
    support = Support(driver, (options.manifest.parent / found.support).read_bytes())
    (function,) = load_functions(driver, launch, {"it": cubin}).values()
    session = Session(driver, support, launch.sets[options.set])
    for _ in range(options.times):
        session.run(function)


if __name__ == "__main__":
    main()

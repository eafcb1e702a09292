#!/usr/bin/env python3
"""Runs one launch of the suite with all its variants; started by compare.py, which outlives a crash or hang in here.

Reads a job as JSON from standard input and answers with lines of JSON: {"doing": ..., "variant": ...} before every step that
may fail, {"failed": variant, "error": ...} and the end when a variant is to blame, {"result": ...} at last.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import manifest
import stats
from driver import CudaError, Driver, Stopwatch
from session import Session, Support, load_functions, sample

ORIGINAL, AGAIN = "original", "again"
WARM_UP = 20_000  # microseconds of work before the first sample, for the clock to settle


class Progress:
    """Tells the parent what comes next, and remembers which variant is to blame if it fails."""

    def __init__(self) -> None:
        self.variant: str | None = None

    def __call__(self, doing: str, variant: str | None = None) -> None:
        self.variant = variant
        answer(doing=doing, variant=variant)


def answer(**message: Any) -> None:
    print(json.dumps(message), flush=True)


def check_set(
    say: Progress, session: Session, functions: dict[str, Any], number: int, repetitions: int
) -> dict[str, Any]:
    """Runs everything over one input set: {variant: differences of the first wrong run}."""
    say(f"input set {number}", ORIGINAL)
    session.run(functions[ORIGINAL])
    session.keep()
    census = session.census()
    found: dict[str, Any] = {}
    for name, function in functions.items():
        if name == ORIGINAL:
            continue
        say(f"input set {number}", name)
        for _ in range(repetitions):
            session.run(function)
            if wrong := session.differences():
                found[name] = wrong
                break
    return {"outputs": census, "differences": found}


def time_all(
    say: Progress, session: Session, functions: dict[str, Any], launches: int, rounds: int
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """(samples in microseconds per launch, differences seen while timing), both per variant."""
    driver, watch = session.driver, Stopwatch(session.driver)
    session.run(functions[ORIGINAL])
    # After several launches in a row only outputs that are not also read are still comparable.
    comparable = all(b.argument.role == "out" for b in session.written)
    counts = {name: driver.allocate(16 * len(session.written)) for name in functions}
    for name in functions:
        session.clear_counts(counts[name])
    spent = 0.0
    while spent < WARM_UP:
        spent += launches * sample(session, watch, functions[ORIGINAL], launches)
    samples: dict[str, list[float]] = {name: [] for name in functions}
    for number in range(rounds):
        for name in stats.rotated(list(functions), number):
            say(f"round {number}", name)
            samples[name].append(sample(session, watch, functions[name], launches))
            if comparable:
                session.count(counts[name])
    return samples, {name: found for name in functions if (found := session.read_counts(counts[name]))}


def work(job: dict[str, Any], say: Progress) -> dict[str, Any]:
    found = manifest.load(Path(job["manifest"]))
    launch = found.launches[job["launch"]]
    say("start")
    driver = Driver()
    support = Support(driver, (found.path.parent / found.support).read_bytes())
    cubins = {ORIGINAL: Path(job["original"]), AGAIN: Path(job["original"])}
    functions = load_functions(driver, launch, cubins)
    for name, path in job["variants"].items():
        say("loading", name)
        functions |= load_functions(driver, launch, {name: Path(path)})

    result: dict[str, Any] = {"device": driver.name(), "sets": [], "inputs_wrong": []}
    sessions = launch.sets[: job["inputs"]]
    for number in reversed(range(len(sessions))):
        session = Session(driver, support, sessions[number])
        if job["check_inputs"]:
            result["inputs_wrong"] += [[number, place] for place in session.inputs_differ()]
        result["sets"].insert(0, check_set(say, session, functions, number, job["repetitions"]))
        if number:
            session.close()
    if job["rounds"]:
        wrong = {name for s in result["sets"] for name in s["differences"]} - {AGAIN}
        timed = {name: f for name, f in functions.items() if name not in wrong or job["time_wrong"]}
        result["samples"], result["timing_differences"] = time_all(say, session, timed, launch.launches, job["rounds"])
    return result


def main() -> None:
    say = Progress()
    try:
        answer(result=work(json.load(sys.stdin), say))
    except CudaError as error:
        answer(failed=say.variant, error=str(error))
    # Without clearing up: in a context that is lost it may hang.
    os._exit(0)


if __name__ == "__main__":
    main()

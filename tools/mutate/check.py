"""Runs `sassafras verify` over mutated cubins and says which mutants it caught.

A file carries many mutants, at most one per kernel, so each is judged by what is reported for its own kernel. What the
original file already has reported does not count.

* *exact*: a reported pair is one of the judge's (same producer and consumer),
* *near*: a report whose producer or consumer lies in the mutated block,
* *elsewhere*: a new report in the kernel, but not in that block: a hazard may show only behind a branch,
* *missed*: nothing new.

An `order` mutant breaks values, not time: it is checked with `--against` the original, and caught when a difference is
reported in its section.
"""

import collections
import concurrent.futures
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import elf
from mutants import COMPARED

LIMIT = 600  # seconds for one run


@dataclass
class Outcome:
    mutant: object
    verdict: str  # exact, near, elsewhere, missed, failed
    reported: list


def batches(mutants):
    """Lists of mutants of one file, at most one per kernel."""
    waiting = collections.defaultdict(lambda: collections.defaultdict(list))
    for mutant in mutants:
        waiting[mutant.path][mutant.kernel].append(mutant)
    for path, kernels in waiting.items():
        while kernels:
            yield path, [queue.pop() for queue in kernels.values()]
            for name in [n for n, queue in kernels.items() if not queue]:
                del kernels[name]


def mutated(data, mutants):
    sections = elf.text_sections(data)
    changed = bytearray(data)
    for mutant in mutants:
        start, _ = sections[mutant.kernel]
        for offset, old, new in mutant.changes:
            place = slice(start + offset, start + offset + 16)
            if changed[place] != old.to_bytes(16, "little"):
                raise ValueError(f"{mutant.path}: {mutant.kernel}+{offset:#x} does not hold the word to change")
            changed[place] = new.to_bytes(16, "little")
    return bytes(changed)


def verify(program, path, against=None):
    """The report as JSON; None where the program failed (status 1 only says that something was found)."""
    command = [program, "verify", "--json", str(path)] + (["--against", str(against)] if against else [])
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None, f"over {LIMIT} s"
    if done.returncode not in (0, 1):
        return None, done.stderr.strip()
    try:
        return json.loads(done.stdout), ""
    except json.JSONDecodeError as error:
        return None, str(error)


def hazards_by_kernel(report):
    found = collections.defaultdict(list)
    for kernel in report["kernels"]:
        found[kernel["name"].removeprefix(elf.TEXT)] += kernel["hazards"]
    return found


def _identity(hazard):
    return (hazard["offset"], hazard["producer"], hazard["kind"], hazard["register"])


def classify(mutant, before, after):
    known = {_identity(h) for h in before}
    new = [h for h in after if _identity(h) not in known]
    pairs = {(h.producer, h.consumer) for h in mutant.hazards}
    low, high = mutant.block
    if any((h["producer"], h["offset"]) in pairs for h in new):
        verdict = "exact"
    elif any(low <= h["offset"] <= high or low <= h["producer"] <= high for h in new):
        verdict = "near"
    else:
        verdict = "elsewhere" if new else "missed"
    return Outcome(mutant, verdict, new)


def _one_batch(program, path, mutants, file, before):
    file.write_bytes(mutated(Path(path).read_bytes(), mutants))
    try:
        order = mutants[0].kind in COMPARED
        report, error = verify(program, file, path if order else None)
        if report is None:
            return [Outcome(m, "failed", [error]) for m in mutants]
        if order:
            sections = {d["section"].removeprefix(elf.TEXT) for d in report["reordering"]["differences"]}
            return [Outcome(m, "exact" if m.kernel in sections else "missed", []) for m in mutants]
        after = hazards_by_kernel(report)
        return [classify(m, before.get(m.kernel, []), after.get(m.kernel, [])) for m in mutants]
    finally:
        file.unlink()


def run(program, made, orders, folder, jobs):
    """Outcomes of all mutants, in the order of their numbers."""
    originals = {}
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as executor:
        paths = sorted({m.path for m in made})
        for path, (report, error) in zip(paths, executor.map(lambda p: verify(program, p), paths)):
            if report is None:
                print(f"{path}: {error}", flush=True)
            originals[path] = hazards_by_kernel(report) if report else {}
            already = sum(map(len, originals[path].values()))
            if already:
                print(f"{path}: {already} hazards reported in the original", flush=True)
        work = []
        for number, (path, some) in enumerate([*batches(made), *batches(orders)]):
            file = folder / f"batch{number}.cubin"
            work.append(executor.submit(_one_batch, program, path, some, file, originals.get(path, {})))
        for future in work:
            outcomes += future.result()
    return sorted(outcomes, key=lambda o: o.mutant.id)

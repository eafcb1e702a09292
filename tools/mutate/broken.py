#!/usr/bin/env python3
"""Broken files: whatever the input, `sassafras` ends with status 0, 1 or 2, soon and with little memory.

    broken.py --sassafras BIN [--fatbinary FATBINARY] --out DIR --count 10000 FILE...

FILEs are good ones under a megabyte: cubins, fatbinaries, host files, archives, PTX (`.ptx`), text IR (`.sir`), tile programs (`.tileir`,
`.tile`). Each case damages one (`brokenfile.py`) and runs one command on it with a limit on processor time and on address space. With `--heavy` files
that are made to cost much go through every command, too. A `schedule` that succeeded is held against its input. What it cannot read it hands
on as it came and says so, and `verify` does not compare that: fine is then a result that is its input byte by byte, or, where the rest of a file is
rescheduled, one whose input `verify` does not even compare with itself.

In DIR: `result.md`, `failures.txt` and `failures/`. Fails on a panic, a signal, another status, a limit that was hit, or a result that
`verify --against` does not accept.
"""

import argparse
import collections
import concurrent.futures
import random
import re
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import brokenfile
import campaign
import containers
import wrong

COMMANDS = {
    "binary": [
        ["verify", "{}"], ["verify", "--json", "{}", "--against", "{good}"], ["verify", "{good}", "--against", "{}"],
        ["schedule", "{}", "-o", "{out}"], ["schedule", "{}", "--strategy", "height", "--keep-capsules", "-o", "{out}"],
        ["schedule", "{}", "--strategy", "shuffle", "-o", "{out}"],
        ["disasm", "{}"], ["disasm", "--json", "{}"], ["analyze", "{}"], ["analyze", "--json", "{}"], ["analyze", "{}", "{good}"],
        ["deps", "{}"], ["deps", "--json", "{}"], ["dual-issue", "{}"],
    ],
    "ptx": [
        ["schedule", "{}", "-o", "{out}"], ["schedule", "{}", "--strategy", "list-burr", "-o", "{out}"],
        ["verify", "{}", "--against", "{good}"], ["verify", "{good}", "--against", "{}"], ["deps", "{}"],
    ],
    "sir": [
        ["schedule", "{}", "-o", "{out}"], ["schedule", "{}", "--strategy", "ilpmax", "-o", "{out}"], ["deps", "{}"],
        ["deps", "--reduced", "--dot", "{}"], ["verify", "{}", "--against", "{good}"], ["analyze", "{}"],
    ],
    "tile": [["tile", "{}"], ["tile", "--json", "{}"], ["tile", "--arch", "sm_100", "--strategy", "none", "{}"]],
}
SHARES = {"binary": 4, "ptx": 2, "sir": 1, "tile": 1}
SECONDS, BYTES = 10, 1 << 30
CLOCK = 120  # seconds by the clock: a process that waits for nothing is broken, too


@dataclass
class Case:
    kind: str
    command: str
    detail: str
    status: int
    fault: str
    seconds: float
    data: bytes = b""
    checked: bool = False
    uncompared: bool = False
    good: str = ""


def kind_of(path):
    return {".ptx": "ptx", ".sir": "sir", ".tileir": "tile", ".tile": "tile"}.get(path.suffix, "binary")


def _limits(seconds, size):
    def set_limits():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return set_limits


def run(command, seconds=SECONDS, size=BYTES, out=subprocess.DEVNULL):
    """(status, standard error, seconds of the processor) under the limits; what is printed goes to `out`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, timeout=CLOCK, preexec_fn=_limits(seconds, size)
        )
        status, said = done.returncode, done.stderr.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        status, said = None, ""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, said, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fault(status, said, spent, seconds=SECONDS):
    """What is wrong with the way that a command ended; empty where nothing is."""
    if status is None:
        return f"over {CLOCK} s by the clock"
    if "panicked at" in said:
        return f"panic: {said.strip()[:400]}"
    if status in (-24, -9) or spent >= seconds:
        return f"over {seconds} s"
    if "memory allocation of" in said or "ENOMEM" in said or "Cannot allocate" in said:
        return f"memory: {said.strip()[-200:]}"
    if status not in (0, 1, 2):
        return f"status {status}: {said.strip()[-300:]}"
    return ""


# What `schedule` says of a file in which nothing is different, and of one with kernels that stay as they came.
UNCHANGED = b"nothing changed, and nothing was checked"
KEPT = re.compile(rb"\b[1-9][0-9]* kept with a reason")


def handed_on(printed, before, after):
    """Whether `schedule` says that it hands a file on as it came, and does."""
    return UNCHANGED in printed and before == after


class Runner:
    """Runs cases in one process; limits are set between fork and exec, so there are no threads here."""

    def __init__(self, options, bases):
        self.options, self.bases = options, bases

    def drawn(self, number):
        rng = random.Random(f"{self.options.seed}:{number}")
        kind = rng.choice([k for k in sorted(self.bases) for _ in range(SHARES[k])])
        path = rng.choice(self.bases[kind])
        good = path.read_bytes()
        detail, data = (brokenfile.binary if kind == "binary" else brokenfile.text)(good, rng)
        return self.case(number, kind, path, data, f"{path.name}: {detail}", rng.choice(COMMANDS[kind]))

    def case(self, number, kind, good, data, detail, command):
        file = self.options.out / f"broken{number}{good.suffix}"
        out = self.options.out / f"out{number}{good.suffix}"
        file.write_bytes(data)
        words = [self.options.sassafras] + [w.format(file, good=good, out=out) if "{" in w else w for w in command]
        limit = self.options.seconds
        try:
            with tempfile.TemporaryFile() as printed:
                status, said, seconds = run(words, limit, self.options.bytes, printed if command[0] == "schedule" else subprocess.DEVNULL)
                printed.seek(0)
                printed = printed.read()
            wrong_end = fault(status, said, seconds, limit)
            checked = not wrong_end and status == 0 and command[0] == "schedule" and out.exists() and kind != "sir"
            uncompared = checked and handed_on(printed, data, out.read_bytes())
            if checked and not uncompared:
                again = [self.options.sassafras, "verify", str(out), "--against", str(file)]
                status_again, said, spent = run(again, limit, self.options.bytes)
                wrong_end = fault(status_again, said, spent, limit)
                if not wrong_end and status_again == 2 and KEPT.search(printed):
                    alone = [self.options.sassafras, "verify", str(file), "--against", str(file)]
                    uncompared = run(alone, limit, self.options.bytes)[0] == 2
                if wrong_end or status_again == 2 and not uncompared or "from a legal reordering" in said:
                    wrong_end = f"the result, held against the input: {wrong_end or said.strip()[-300:]}"
        finally:
            file.unlink(missing_ok=True)
            out.unlink(missing_ok=True)
        return Case(kind, " ".join(command), detail, status, wrong_end, seconds, data if wrong_end or seconds > limit / 2 else b"", checked, uncompared, str(good))


_RUNNER = None


def _start(options, bases):
    global _RUNNER
    _RUNNER = Runner(options, bases)


def _drawn(number):
    return _RUNNER.drawn(number)


def _heavy(number, kind, good, data, detail, command):
    return _RUNNER.case(number, kind, good, data, detail, command)


def write(folder, cases):
    faults = [c for c in cases if c.fault]
    lines = [f"# {len(cases)} broken files, {len(faults)} faults", "", "| input | command | cases | status 0 | 1 | 2 | faults | slowest, s |", "|---|---|" + "--:|" * 6]
    groups = collections.defaultdict(list)
    for case in cases:
        groups[case.kind, case.command].append(case)
    for (kind, command), group in sorted(groups.items()):
        counts = collections.Counter(c.status for c in group)
        bad, slowest = sum(bool(c.fault) for c in group), max(c.seconds for c in group)
        lines.append(f"| {kind} | `{command}` | {len(group)} | {counts[0]} | {counts[1]} | {counts[2]} | {bad} | {slowest:.2f} |")
    checked, uncompared = sum(c.checked for c in cases), sum(c.uncompared for c in cases)
    lines += ["", f"{checked - uncompared} results of `schedule` were held against their inputs; {uncompared} more are these inputs, or keep what nobody can read.", ""]
    slow = sorted(cases, key=lambda c: -c.seconds)[:10]
    lines += ["Slowest:", "", *(f"* {c.seconds:.2f} s: `{c.command}` {c.detail}" for c in slow), ""]
    (folder / "result.md").write_text("\n".join(lines))
    kept = folder / "failures"
    with open(folder / "failures.txt", "w") as out:
        for n, case in enumerate(faults):
            kept.mkdir(exist_ok=True)
            file = kept / f"{n}{Path(case.good).suffix}"
            file.write_bytes(case.data)
            out.write(f"{file.name} `{case.command}` {case.detail}: {case.fault}\n  good file: {case.good}\n")
    print("\n".join(lines))
    return faults


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], fromfile_prefix_chars="@")
    parser.add_argument("files", nargs="+", metavar="FILE", type=Path, help="good files; @FILE holds names, one a line")
    parser.add_argument("--sassafras", required=True)
    parser.add_argument("--fatbinary", help="makes fatbinaries, a library and an archive of the cubins")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--heavy", action="store_true", help="files that are made to cost much, too")
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--bytes", type=int, default=BYTES)
    return parser.parse_args(argv)


def main(argv=None):
    options = arguments(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(options.seed)
    bases = collections.defaultdict(list)
    for path in options.files:
        if 0 < path.stat().st_size < brokenfile.MOST:
            bases[kind_of(path)].append(path.resolve())
    cubins = [p for p in bases["binary"] if containers.kind(p.read_bytes()) == "cubin" and campaign.arch_of(p) >= 70]
    if options.fatbinary and cubins:
        made = wrong.shared_files(options.fatbinary, cubins, bases["ptx"], options.out / "made", rng)
        # As often as cubins are.
        bases["binary"] += made * max(1, len(bases["binary"]) // (2 * len(made)))
    bases = {kind: paths for kind, paths in bases.items() if paths}
    cases = []
    with concurrent.futures.ProcessPoolExecutor(options.jobs, initializer=_start, initargs=(options, bases)) as executor:
        work = []
        if options.heavy:
            some = rng.sample(cubins, min(4, len(cubins)))
            texts = [(kind, rng.choice(bases[kind])) for kind in ("ptx", "sir", "tile") if kind in bases for _ in range(4)]
            sources = [(campaign.arch_of(p), p.read_bytes()) for p in some]
            firsts = {kind: paths[0] for kind, paths in bases.items()}
            made = brokenfile.heavy(sources, [(kind, p.read_bytes()) for kind, p in texts], rng)
            for n, (name, kind, data) in enumerate(made):
                for m, command in enumerate(COMMANDS[kind]):
                    good = firsts[kind] if kind != "binary" else some[0]
                    work.append(executor.submit(_heavy, f"heavy{n}.{m}", kind, good, data, name, command))
        work += [executor.submit(_drawn, number) for number in range(options.count)]
        cases = [future.result() for future in work]
    return 1 if write(options.out, cases) else 0


if __name__ == "__main__":
    sys.exit(main())

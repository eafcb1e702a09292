#!/usr/bin/env python3
"""Wrong files against the original: rescheduled files are damaged in one way each, and `sassafras verify --against` must refuse them.

    wrong.py --sassafras BIN --nvdisasm NVDISASM [--nvdisasm OLDER] [--fatbinary FATBINARY] --out DIR --count 10000 FILE...

FILEs are originals: cubins, host files, archives, PTX (`.ptx`). Each is rescheduled in several ways (MODES); with `--fatbinary`
small fatbinaries, a shared library and an archive are made of the cubins, too. Damage of code (`wrongcode.py`) takes its places from
nvdisasm, damage of what is around it (`wrongfile.py`) from the file's own headers.

A damaged file that is accepted must be proven to be as good as it was, by rules that share nothing with the checker (`proof.py`). A file in which
hazards alone were found is refused; but if the comparison has nothing against it and no rule says that the same is computed,
it counts as *hidden*: luck is no check.

In DIR: `result.md` (a table by kind), `survivors.txt` and `survivors/` (what was accepted or hidden without a proof). Fails where there is any.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import campaign
import containers
import elf
import hosts
import proof
import rules
import sasstext
import wrongcode
import wrongfile

MODES = {
    "cubin": ("tepid", "height", "shuffle"),
    "fatbinary": ("height", "shuffle"),
    "host": ("tepid", "height", "shuffle", "reverse"),
    "archive": ("height", "shuffle"),
    "text": ("auto", "list-burr", "ilpmax"),
}
TRIES = 30  # places tried until a kind of damage finds one
LIMIT = 300  # seconds for one run
PER_SHARED = 6  # cubins in each file that is made of cubins


@dataclass
class Base:
    """A rescheduled file that is accepted."""

    original: Path
    path: Path
    mode: str
    what: str
    data: bytes
    listing: object = None  # None: not read yet; False: cannot be read


@dataclass
class Outcome:
    kind: str
    base: Base
    detail: str
    verdict: str  # compared, hazards, unreadable, proven, hidden, accepted, failed
    reason: str = ""
    data: bytes = b""


def verdict(program, path, original):
    """(accepted, hazards or '', what was said)"""
    command = [program, "verify", "--json", str(path), "--against", str(original)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return "failed", f"over {LIMIT} s"
    if done.returncode == 2:
        return "unreadable", done.stderr.strip()
    if done.returncode not in (0, 1):
        return "failed", f"status {done.returncode}: {done.stderr.strip()[-400:]}"
    try:
        report = json.loads(done.stdout)
        differences = report["reordering"]["differences"]
        hazards = sum(len(k["hazards"]) for k in report["kernels"])
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        return "failed", f"no report: {error}"
    if (done.returncode == 0) != (not differences and not hazards):
        return "failed", f"status {done.returncode}, {len(differences)} differences and {hazards} hazards"
    if differences:
        return "compared", differences[0]["change"]
    return ("hazards", f"{hazards} hazards") if hazards else ("accepted", "")


def reschedule(program, original, mode, folder):
    """A rescheduled file that is accepted, or why there is none."""
    name = f"{hashlib.sha256(str(original).encode()).hexdigest()[:8]}.{mode}.{original.name}"
    out = folder / name
    command = [program, "schedule", str(original), "--strategy", mode, "-o", str(out)]
    what = containers.kind(original.read_bytes())
    if what != "text":
        command += ["--keep-capsules"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"{original} in {mode}: over {LIMIT} s"
    if done.returncode != 0 or not out.exists():
        return f"{original} in {mode}: status {done.returncode}: {done.stderr.strip()[-300:]}"
    said, why = verdict(program, out, original)
    if said != "accepted":
        return f"{original} in {mode}: {said}: {why}"
    return Base(original, out, mode, what, out.read_bytes())


class Maker:
    """Draws damaged files; the same seed gives the same."""

    def __init__(self, bases, disassembler, seed, cache):
        self.bases, self.disassembler, self.seed, self.cache = bases, disassembler, seed, cache
        self.seen = set()
        self.kinds = {}
        for base in bases:
            for kind, make in wrongfile.KINDS[base.what].items():
                self.kinds.setdefault(kind, ([], make))[0].append(base)
            if base.what == "cubin" and campaign.arch_of(base.original) >= 70:
                for kind, make in wrongcode.KINDS.items():
                    self.kinds.setdefault(kind, ([], make))[0].append(base)

    def draw(self, kind, number):
        """(base, what was damaged, bytes), or None where no place was found."""
        bases, make = self.kinds[kind]
        rng = random.Random(f"{self.seed}:{kind}:{number}")
        for _ in range(TRIES):
            base = rng.choice(bases)
            made = self._in_code(base, make, rng) if kind in wrongcode.KINDS else make(base.data, rng)
            if made is None or made[1] == base.data or made[1] == base.original.read_bytes():
                continue
            digest = hashlib.sha256(made[1]).digest()
            if digest not in self.seen:
                self.seen.add(digest)
                return base, *made
        return None

    def _in_code(self, base, make, rng):
        if base.listing is None:
            try:
                base.listing = campaign.listing(self.disassembler, base.path, self.cache)
            except (RuntimeError, ValueError, KeyError):
                base.listing = False
        if not base.listing:
            return None
        kernel = rng.choice(base.listing.kernels)
        made = make(kernel, rng)
        if made is None:
            return None
        start, _ = elf.text_sections(base.data)[kernel.name]
        return f"{kernel.name}: {made[0]}", wrongcode.apply(base.data, start, made[1])


def judge(program, prover, folder, kind, number, base, detail, data):
    """Asks the checker, and where it accepts, for a proof."""
    file = folder / f"damaged{number}{base.path.suffix}"
    file.write_bytes(data)
    try:
        said, why = verdict(program, file, base.original)
    finally:
        file.unlink()
    if said in ("compared", "unreadable"):
        return Outcome(kind, base, detail, said, why)
    if said == "failed":
        return Outcome(kind, base, detail, said, why, data)
    reason = prover.proof(base.data, data, kind, timing=said == "accepted")
    if said == "hazards":
        return Outcome(kind, base, detail, "hazards" if reason else "hidden", reason or why, data)
    return Outcome(kind, base, detail, "proven" if reason else "accepted", reason or "", data)


def shared_files(program, cubins, ptx, folder, rng):
    """Fatbinaries of every compression, libraries and archives of them, made of small cubins."""
    folder.mkdir(parents=True, exist_ok=True)
    small = [p for p in cubins if p.stat().st_size < 30000 and "relocatable" not in p.name and "debug" not in p.name]
    made, parts = [], []
    for n, mode in enumerate(hosts.MODES):
        chosen = {p.parent.name.removeprefix("sm_"): p for p in rng.sample(small, min(len(small), PER_SHARED))}
        images = [("elf", arch, path) for arch, path in sorted(chosen.items())]
        if ptx and mode != "none":
            images.append(("ptx", "90", rng.choice(ptx)))
        parts.append(hosts.fatbinary(program, folder, f"{mode}.fatbin", mode, images))
    made += parts
    for n, pair in enumerate((parts[:2], parts[1:], [parts[0], parts[2]], [parts[0]])):
        made += hosts.library(folder, f"lib{n}", pair)
    return made


def table(outcomes, notes):
    columns = ("compared", "unreadable", "hazards", "proven", "hidden", "accepted", "failed")
    groups = collections.defaultdict(collections.Counter)
    for outcome in outcomes:
        groups[outcome.kind][outcome.verdict] += 1
    survivors = sum(o.verdict in ("accepted", "hidden", "failed") for o in outcomes)
    lines = [f"# {len(outcomes)} wrong files, {survivors} got through without a proof", ""]
    lines += ["| kind | files | refused: comparison | unreadable | hazards alone | accepted, proven | hidden | accepted, no proof | failed |"]
    lines += ["|---|" + "--:|" * 8]
    for kind, counts in [*groups.items(), ("all", sum(groups.values(), collections.Counter()))]:
        lines.append(f"| {kind} | {sum(counts.values())} | " + " | ".join(str(counts[c]) for c in columns) + " |")
    proven = collections.Counter((o.kind, o.reason) for o in outcomes if o.verdict == "proven")
    lines += ["", "| accepted | proof | files |", "|---|---|--:|"]
    lines += [f"| {kind} | {reason} | {count} |" for (kind, reason), count in sorted(proven.items())]
    return "\n".join([*lines, "", *notes, ""]), survivors


def write(folder, outcomes, notes):
    result, survivors = table(outcomes, notes)
    (folder / "result.md").write_text(result)
    kept = folder / "survivors"
    with open(folder / "survivors.txt", "w") as out:
        for n, o in enumerate(outcomes):
            if o.verdict not in ("accepted", "hidden", "failed"):
                continue
            kept.mkdir(exist_ok=True)
            file = kept / f"{n}{o.base.path.suffix}"
            file.write_bytes(o.data)
            out.write(f"{file.name} {o.verdict} {o.kind}: {o.detail}\n  {o.reason}\n  {o.base.mode} of {o.base.original} ({o.base.path.name})\n")
    with open(folder / "proven.txt", "w") as out:
        out.writelines(f"{o.kind}: {o.detail}: {o.reason}: {o.base.path.name}\n" for o in outcomes if o.verdict in ("proven", "hazards"))
    print(result)
    return survivors


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], fromfile_prefix_chars="@")
    parser.add_argument("files", nargs="+", metavar="FILE", type=Path, help="originals; @FILE holds names, one a line")
    parser.add_argument("--sassafras", required=True)
    parser.add_argument("--nvdisasm", action="append", required=True, help="tried in turn: versions read different files")
    parser.add_argument("--fatbinary", help="makes fatbinaries of the cubins")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--bases", type=int, default=100, help="cubins and PTX files that are taken of all, each; the others are always")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--largest", type=int, default=200_000, help="bytes of a cubin or PTX file that is taken")
    return parser.parse_args(argv)


def spread(paths, count, rng):
    """So many of them, folders in turn: a folder is an architecture."""
    groups = collections.defaultdict(list)
    for path in sorted(paths):
        groups[path.parent].append(path)
    queues = [rng.sample(group, len(group)) for _, group in sorted(groups.items())]
    chosen = []
    while queues and len(chosen) < count:
        for queue in queues:
            if len(chosen) < count:
                chosen.append(queue.pop())
        queues = [q for q in queues if q]
    return chosen


def originals(options, rng):
    by_kind = collections.defaultdict(list)
    for path in options.files:
        what = containers.kind(path.read_bytes())
        if what not in ("cubin", "text") or path.stat().st_size <= options.largest:
            by_kind[what].append(path)
    machines = [p for p in by_kind["cubin"] if campaign.arch_of(p) >= 70]
    chosen = spread(machines, options.bases, rng)
    texts = spread(by_kind["text"], options.bases // 4, rng)
    made = []
    if options.fatbinary and machines:
        made = shared_files(options.fatbinary, machines, by_kind["text"], options.out / "made", rng)
    return chosen + texts + by_kind["host"] + by_kind["archive"] + by_kind["fatbinary"] + made


def main(argv=None):
    options = arguments(argv)
    folder = options.out / "files"
    folder.mkdir(parents=True, exist_ok=True)
    disassembler = sasstext.Disassembler(options.nvdisasm)
    prover = proof.Prover(disassembler, rules.load(campaign.STORED))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as executor:
        work = []
        for path in originals(options, random.Random(options.seed)):
            for mode in MODES[containers.kind(path.read_bytes())]:
                work.append(executor.submit(reschedule, options.sassafras, path, mode, folder))
        done = [future.result() for future in work]
        bases, notes = [d for d in done if isinstance(d, Base)], [f"left out: {d}" for d in done if isinstance(d, str)]
        changed = sum(b.data != b.original.read_bytes() for b in bases)
        notes.append(f"{len(bases)} rescheduled files, {changed} of them not as they came; seed {options.seed}")
        print("\n".join(notes), flush=True)
        maker = Maker(bases, disassembler, options.seed, options.out / "listings")
        outcomes, number, tired = [], 0, set()
        waiting = collections.deque()
        while len(waiting) + len(outcomes) < options.count and len(tired) < len(maker.kinds):
            for kind in maker.kinds:
                if kind in tired or len(waiting) + len(outcomes) >= options.count:
                    continue
                drawn = maker.draw(kind, number)
                number += 1
                if drawn is None:
                    tired.add(kind)
                    continue
                waiting.append(executor.submit(judge, options.sassafras, prover, folder, kind, number, *drawn))
                while len(waiting) > 64:
                    outcomes.append(waiting.popleft().result())
                    if len(outcomes) % 1000 == 0:
                        print(f"{len(outcomes)} files", flush=True)
        outcomes += [future.result() for future in waiting]
    order = {kind: n for n, kind in enumerate(maker.kinds)}
    outcomes.sort(key=lambda o: order[o.kind])
    return 1 if write(options.out, outcomes, notes) else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A mutation campaign against `sassafras verify` that shares nothing with it.

    campaign.py --nvdisasm NVDISASM [--nvdisasm OLDER] --out DIR CUBIN...                 # makes mutants only
    campaign.py --sassafras BIN --nvdisasm NVDISASM --out DIR --mutants 10000 CUBIN...    # and checks them
    campaign.py --sassafras BIN --nvdisasm NVDISASM --out DIR --fast CUBIN...             # 500 mutants, for CI
    campaign.py --sassafras BIN --out DIR --manifest OLD/mutants.jsonl                    # the mutants of an earlier run

Every architecture found among the files gets an equal share. Rules are learnt from the files themselves, or read from
`--rules FILE` (as `--save-rules FILE` writes them); `--fast` reads the stored ones.

In DIR: `mutants.jsonl` (what was changed and why that is unsafe), `result.md` (tables), `survivors.txt`.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pickle
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import check
import elf
import evidence
import judge
import mutants
import report
import rules
import sasstext
import spacing

STORED = Path(__file__).parent / "rules.json"
FAST, FAST_EFFORT = 500, 2500  # mutants, and instructions tried over all architectures


def listing(disassembler, path, cache):
    """nvdisasm's listing, its words compared with the file's; kept under `cache` where one is given."""
    data = Path(path).read_bytes()
    kept = cache and cache / f"{hashlib.sha256(data).hexdigest()}.{Path(sasstext.__file__).stat().st_mtime_ns}"
    if kept and kept.exists():
        return pickle.loads(kept.read_bytes())
    found = disassembler.listing(path)
    sections = elf.text_sections(data)
    for kernel in found.kernels:
        start, size = sections[kernel.name]
        for instruction in kernel.instructions():
            place = start + instruction.offset
            if instruction.offset + 16 > size or int.from_bytes(data[place : place + 16], "little") != instruction.word:
                raise ValueError(f"{path}: {kernel.name}+{instruction.offset:#x} is not what nvdisasm printed")
    if kept:
        cache.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps(found))
    return found


def join_turns(kernel):
    """A BSYNC has a label, and so a block of its own: it ends the block before it, too, where that goes on to it."""
    for block, behind in zip(kernel.blocks, kernel.blocks[1:]):
        follows = block[-1].offset + 16 == behind[0].offset and block[-1].base not in sasstext.CONTROL
        if follows and behind[0].base == "BSYNC":
            block.append(behind[0])


def arch_of(path):
    """The SM number in the ELF flags: bits 8 to 16 in files of the newer layout, 0 to 8 in older ones."""
    head = Path(path).read_bytes()[:64]
    if head[:4] != b"\x7fELF":
        raise elf.NotACubin(f"{path}: not an ELF file")
    flags = int.from_bytes(head[48:52], "little")
    return flags >> 8 & 255 if head[7] == 0x41 else flags & 255


def share(paths, count):
    """How many mutants each architecture gives: equal parts, the rest to the first."""
    archs = sorted({arch_of(p) for p in paths})
    return {arch: count // len(archs) + (i < count % len(archs)) for i, arch in enumerate(archs)}


def one_pool(paths, counts, options):
    """Learns from, and mutates, the files of one pool of architectures. Returns (rules, mutants, order swaps, notes)."""
    disassembler = sasstext.Disassembler(options.nvdisasm)
    listings, notes = {}, []
    for path in paths:
        try:
            listings[path] = listing(disassembler, path, options.cache)
        except (RuntimeError, ValueError, KeyError) as error:
            notes.append(f"left out: {error}")
    if not listings:
        return None, [], [], notes
    pool = rules.pool(next(iter(listings.values())).arch)
    kernels = [k for found in listings.values() for k in found.kernels]
    for kernel in kernels:
        join_turns(kernel)
    if options.rules:
        learnt = rules.load(options.rules).get(pool)
        if learnt is None:
            return None, [], [], notes + [f"no stored rules for sm_{pool}"]
        drop_contradicted(learnt, kernels)
    else:
        learnt = evidence.Evidence().learn(kernels)
    learnt.spacings = {key: value for key, value in learnt.spacings.items() if not spacing.disproved(pool, key)}
    learnt.boards = {key for key in learnt.boards if not rules.disproved(key)}
    made, orders = [], []
    for arch, count in counts.items():
        chosen = {p: found for p, found in listings.items() if found.arch == arch}
        if chosen:
            drawn, swapped = mutants.sample(learnt, chosen, count, f"{options.seed}:{arch}", options.effort)
            made += drawn
            orders += swapped
    size = sum(len(block) for kernel in kernels for block in kernel.blocks)
    notes.append(
        f"sm_{pool}: {len(listings)} files, {len(kernels)} kernels, {size} instructions; "
        f"{len(learnt.boards)} scoreboard rules, {len(learnt.floors)} distance floors, {len(learnt.spacings)} spacings; "
        f"{len(made)} mutants, {len(orders)} order swaps"
    )
    return learnt, made, orders, notes


def drop_contradicted(learnt, kernels):
    """Unmutated code is right: a stored rule that it breaks is not used."""
    for kernel in kernels:
        for block in kernel.blocks:
            for hazard in judge.hazards(learnt, block):
                learnt.boards.discard(hazard.key)
                learnt.floors.pop(hazard.key, None)
                learnt.spacings.pop(hazard.key, None)


def make(options):
    """({pool: rules}, mutants, order swaps); the manifest grows as pools are finished."""
    counts = share(options.files, options.mutants)
    pools = {}
    for path in sorted(options.files):
        pools.setdefault(rules.pool(arch_of(path)), []).append(path)
    found, made, orders, number = {}, [], [], 0
    with (
        concurrent.futures.ProcessPoolExecutor(options.jobs) as executor,
        open(options.out / "mutants.jsonl", "w") as manifest,
    ):
        work = [
            executor.submit(one_pool, paths, {a: n for a, n in counts.items() if rules.pool(a) == pool}, options)
            for pool, paths in sorted(pools.items())
        ]
        for pool, future in zip(sorted(pools), work):
            learnt, some, swapped, notes = future.result()
            print("\n".join(notes), flush=True)
            for mutant in some + swapped:
                mutant.id = number
                number += 1
                manifest.write(json.dumps(mutant.record()) + "\n")
            manifest.flush()
            made += some
            orders += swapped
            if learnt:
                found[pool] = learnt
    return found, made, orders


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], fromfile_prefix_chars="@")
    parser.add_argument("files", nargs="*", metavar="CUBIN", help="@FILE holds names, one a line")
    parser.add_argument("--nvdisasm", action="append", help="tried in turn: versions read different files")
    parser.add_argument("--manifest", type=Path, help="take the mutants from here instead of making them")
    parser.add_argument("--sassafras", help="the command to check; without it only mutants are made")
    parser.add_argument("--mutants", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rules", type=Path, help="use these rules instead of learning from the files")
    parser.add_argument("--save-rules", type=Path)
    parser.add_argument("--fast", action="store_true", help=f"{FAST} mutants by the stored rules")
    parser.add_argument("--effort", type=int, default=9000, help="instructions tried per architecture")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", type=Path, help="keep parsed listings here")
    parser.add_argument("--minimum", type=float, default=0.0, help="fail under this catch rate, in percent")
    options = parser.parse_args(argv)
    if not options.manifest and not (options.files and options.nvdisasm):
        parser.error("give cubins and --nvdisasm, or --manifest")
    if options.fast:
        options.mutants = FAST
        options.effort = FAST_EFFORT // len(share(options.files, FAST))
        options.rules = options.rules or STORED
    return options


def main(argv=None):
    options = arguments(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.manifest:
        again = [mutants.Mutant.from_record(json.loads(line)) for line in options.manifest.read_text().splitlines()]
        found, made, orders = {}, [m for m in again if m.kind not in mutants.COMPARED], [m for m in again if m.kind in mutants.COMPARED]
    else:
        found, made, orders = make(options)
    if options.save_rules:
        rules.store(options.save_rules, found)
    print(f"{len(made)} mutants and {len(orders)} order swaps", flush=True)
    if not options.sassafras:
        return 0
    outcomes = check.run(options.sassafras, made, orders, options.out, options.jobs)
    rate = report.write(options.out, outcomes)
    return 0 if rate >= options.minimum else 1


if __name__ == "__main__":
    sys.exit(main())

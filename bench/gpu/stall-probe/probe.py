"""Shortens stalls between dependent neighbours until results break. Needs a GPU and CuPy."""

import collections
import json
import re
import sys
import tempfile
from pathlib import Path

import cupy
import numpy

STALL = 105  # lowest bit of the 4-bit stall field
WAIT = 116  # lowest bit of the 6-bit wait mask
INPUTS = 4

random = numpy.random.default_rng(1)
DATA = random.integers(0, 2**32, size=(INPUTS, 32, 4), dtype=numpy.uint32)
DATA[:, :, 1] = (DATA[:, :, 1] & 0x007FFFFF) | 0x3F800000  # as a float: 1 to 2
DATA[:, :, 2] = (DATA[:, :, 2] & 0x007FFFFF) | 0xBF000000  # as a float: -1 to -0.5

folder = Path(tempfile.mkdtemp())
runs = 0


def run(cubin):
    """The results of a cubin. CuPy caches by path, so every run gets its own."""
    global runs
    path = folder / f"{runs}.cubin"
    runs += 1
    path.write_bytes(cubin)
    kernel = cupy.RawModule(path=str(path)).get_function("k")
    results = []
    for data in DATA:
        buffer = cupy.asarray(data)
        kernel((1,), (32,), (buffer,))
        results.append(cupy.asnumpy(buffer))
    path.unlink()
    return numpy.stack(results)


def parts(text):
    guard, opcode, operands = re.match(r"(@!?\S+\s+)?(\S+)\s*(.*)", text).groups()
    return guard or "", opcode, [o.strip() for o in operands.split(",")] if operands else []


def name(opcode):
    base, *modifiers = opcode.split(".")
    return ".".join([base] + [m for m in modifiers if m in ("WIDE", "MMA", "X", "MOV", "IADD")])


def dependent_neighbours(listing):
    """Positions of instructions whose result the next one reads, by (first, second, role, half, register file)."""
    texts = [text for _, text, _ in listing]
    start = max(i for i, text in enumerate(texts) if "LDG" in text) + 1
    end = min(i for i, text in enumerate(texts) if "STG" in text) - 1
    found = collections.defaultdict(list)
    for i in range(start, end):
        _, first, operands = parts(texts[i])
        guard, second, sources = parts(texts[i + 1])
        if not operands or (listing[i + 1][2] >> WAIT) & 63:
            continue  # A wait takes time of its own.
        result = operands[0].split(".")[0]
        halves = [(result, "low")]
        if first.startswith(("IMAD.WIDE", "D")) and re.fullmatch(r"R\d+", result):
            halves.append((f"R{int(result[1:]) + 1}", "high"))
        for register, half in halves:
            if not re.fullmatch(r"(UR|R|UP|P)\d+", register):
                continue
            word = rf"\b{register}\b"
            if re.search(word, guard):
                role = "guard"
            elif any(re.search(word, s) for s in sources[1:]):
                role = "operand"
            elif half == "high" and second.startswith("D"):
                role = "operand"
            else:
                continue
            found[(name(first), name(second), role, half, register.rstrip("0123456789"))].append(i)
    return found


def shortened(cubin, text_start, listing, positions, stall):
    patched = bytearray(cubin)
    for i in positions:
        word = listing[i][2]
        shorter = min(stall, word >> STALL & 15)
        word = word & ~(15 << STALL) | shorter << STALL
        patched[text_start + 16 * i : text_start + 16 * (i + 1)] = word.to_bytes(16, "little")
    return bytes(patched)


def main():
    needs = collections.defaultdict(list)
    for path in sorted(Path(sys.argv[1]).glob("*.json")):
        listing = json.loads(path.read_text())
        cubin = path.with_suffix(".cubin").read_bytes()
        text_start = cubin.find(listing[0][2].to_bytes(16, "little"))
        reference = run(cubin)
        for pair, positions in dependent_neighbours(listing).items():
            stalls = [listing[i][2] >> STALL & 15 for i in positions]
            need = max(stalls)
            while need > 1:
                patched = shortened(cubin, text_start, listing, positions, need - 1)
                if not numpy.array_equal(run(patched), reference):
                    break
                need -= 1
            needs[pair].append((need, min(stalls)))
    print(f"{'first':12} {'second':12} {'role':8} {'half':5} {'file':4} {'need':>4} {'left':>4} {'kernels':>7}")
    for pair, found in sorted(needs.items()):
        need, left = max(n for n, _ in found), min(s for _, s in found)
        print(f"{pair[0]:12} {pair[1]:12} {pair[2]:8} {pair[3]:5} {pair[4]:4} {need:4} {left:4} {len(found):7}")


main()

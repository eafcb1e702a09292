"""Damages the code of a cubin in one way. Places come from nvdisasm's text, changes are made in the raw words.

Every maker gets a kernel, a random generator and yields at most one `(what, {offset: new word})`. Whether the result computes something else is
not asked here: what is accepted has to be proven (`proof.py`).
"""

import re

import control
import mutants
import sasstext

CODE = (1 << 105) - 1 | 3 << 126  # what is no control field
NOP = 0x000FC00000000000_0000000000007918

_MEMORY = re.compile(r"(LD|ST|ATOM|RED|SULD|SUST|SUATOM|SURED|TEX|TLD|CCTL|UBLKCP|UTMA|SYNCS|LDGSTS|UBLKRED)")
_CONSTANT = frozenset("LDC ULDC LDCU LDGDEPBAR LDTM STTM LDTRAM REDUX".split())
FENCES = frozenset(
    "BAR MEMBAR DEPBAR ERRBAR CCTL CCTLL FENCE WARPSYNC LDGDEPBAR ARRIVES SYNCS UCGABAR_ARV UCGABAR_WAIT WARPGROUP NANOSLEEP VOTE SHFL"
    " MATCH UTMACMDFLUSH UTMACCTL ACQBULK B2R R2B".split()
)
_BRANCH = frozenset("BRA BSSY CALL WARPSYNC BRA.U JMP".split())
# Where register numbers stand in a word: result, first, second and third source.
REGISTER_FIELDS = ((16, 8), (24, 8), (32, 8), (64, 8))
GUARD = (12, 4)
IMMEDIATE = (32, 32)
_TARGET_BITS = range(36, 44)


def is_memory(instruction):
    return bool(_MEMORY.match(instruction.base)) and instruction.base not in _CONSTANT


def _pairs(kernel, keep):
    """Neighbours of a block that `keep` wants, as (block, index)."""
    return [(b, i) for b in kernel.blocks for i in range(len(b) - 1) if keep(b[i], b[i + 1])]


def exchange(first, second, rng):
    """The words of two instructions, each at the place of the other; control fields stay or travel."""
    one, two = second.word, first.word
    if rng.random() < 0.5:
        fields = control.get(first.word, control.ALL), control.get(second.word, control.ALL)
        one, two = control.put(one, control.ALL, fields[0]), control.put(two, control.ALL, fields[1])
    return {first.offset: one, second.offset: two}


def _swapped(kernel, rng, keep):
    places = _pairs(kernel, keep)
    if not places:
        return None
    block, i = rng.choice(places)
    first, second = block[i], block[i + 1]
    return f"{first.text} | {second.text} swapped", exchange(first, second, rng)


def _ends(instruction):
    return instruction.base in sasstext.CONTROL


def _dependent(kind):
    def keep(first, second):
        if _ends(first) or _ends(second) or first.text == second.text:
            return False
        found = mutants.dependence(first, second)
        return found is not None and found[0] == kind

    return lambda kernel, rng: _swapped(kernel, rng, keep)


def memory(kernel, rng):
    """Two accesses to memory, one of which may write, up to six instructions apart."""
    places = []
    for block in kernel.blocks:
        for i, first in enumerate(block):
            for second in block[i + 1 : i + 7]:
                if is_memory(first) and is_memory(second) and not (first.base.startswith("LD") and second.base.startswith("LD")):
                    places.append((first, second))
    if not places:
        return None
    first, second = rng.choice(places)
    return f"{first.text} | {second.text} exchanged", exchange(first, second, rng)


def fence(kernel, rng):
    """A fence, a barrier or an instruction of the warp, and its neighbour."""
    def keep(first, second):
        return first.text != second.text and (first.base in FENCES) != (second.base in FENCES)

    return _swapped(kernel, rng, keep)


def _fields(instruction):
    """((field, number) of the registers that the text names and the word holds)."""
    named = {n for o in instruction.operands for f, n, _ in o.registers if f in ("R", "UR")}
    return [(f, control.get(instruction.word, f)) for f in REGISTER_FIELDS if control.get(instruction.word, f) in named]


def register(kernel, rng):
    """One register operand."""
    places = [(i, f, n) for i in kernel.instructions() for f, n in _fields(i)]
    used = sorted({n for i in kernel.instructions() for f, n in i.reads | i.writes if f == "R"})
    if not places or len(used) < 2:
        return None
    instruction, field, number = rng.choice(places)
    other = rng.choice([n for n in used if n != number])
    return f"{instruction.text}: R{number} at bit {field[0]} to R{other}", {
        instruction.offset: control.put(instruction.word, field, other)
    }


def _renamed(kernel, rng, choose):
    """A value that lives inside a block, renamed from its write to its last read."""
    blocks = [b for b in kernel.blocks if len(b) > 2]
    rng.shuffle(blocks)
    for block in blocks[:8]:
        for i in rng.sample(range(len(block)), min(len(block), 12)):
            written = [r for r in block[i].writes if r[0] == "R"]
            if len(written) != 1 or block[i].guard or not block[i].trusted:
                continue
            (_, number), changes, last = written[0], {}, i
            if not any(f == REGISTER_FIELDS[0] and n == number for f, n in _fields(block[i])):
                continue
            ended = False
            for j in range(i + 1, len(block)):
                if ("R", number) in block[j].reads:
                    last = j
                if ("R", number) in block[j].writes:
                    ended = True
                    break
            if last == i or (not ended and ("R", number) in block[-1].live):
                continue
            other = choose(block[i : last + 1], number)
            if other is None:
                continue
            changes[block[i].offset] = control.put(block[i].word, REGISTER_FIELDS[0], other)
            for reader in block[i + 1 : last + 1]:
                word = reader.word
                if ("R", number) not in reader.reads:
                    continue
                fields = [f for f, n in _fields(reader) if n == number and f != REGISTER_FIELDS[0]]
                if not fields or not reader.trusted:
                    break
                for field in fields:
                    word = control.put(word, field, other)
                changes[reader.offset] = word
            else:
                return f"{block[i].text}: its value in R{other}", changes
    return None


def rename(kernel, rng):
    """A value renamed onto a register that holds another one there. R1 is live by convention alone where nobody but its write names it."""
    stack = sum(bool(re.search(r"\bR1\b", i.text)) for i in kernel.instructions()) > 1

    def choose(stretch, number):
        live = set.intersection(*(set(i.live) for i in stretch)) - {("R", number), ("R", number if stack else 1)}
        numbers = sorted(n for f, n in live if f == "R")
        return rng.choice(numbers) if numbers else None

    return _renamed(kernel, rng, choose)


def rename_beyond(kernel, rng):
    """A value renamed onto a register that the kernel does not have."""
    return _renamed(kernel, rng, lambda stretch, number: rng.randrange(249, 255))


def immediate(kernel, rng):
    """A bit of a number in the text."""
    places = []
    for i in kernel.instructions():
        value = control.get(i.word, IMMEDIATE)
        if value and re.search(rf"\b0x0*{value:x}\b", i.text):
            places.append((i, 32 + rng.randrange(max(4, value.bit_length()))))
        elif match := re.search(r"c\[0x[0-9a-f]+\]\[0x([0-9a-f]+)\]", i.text):
            # An offset in a constant bank stands in words.
            if control.get(i.word, (40, 14)) == int(match[1], 16) >> 2:
                places.append((i, 40 + rng.randrange(8)))
    if not places:
        return None
    instruction, bit = rng.choice(places)
    return f"{instruction.text}: bit {bit}", {instruction.offset: instruction.word ^ 1 << bit}


def guard(kernel, rng):
    """Another guard, or none, or its opposite."""
    instruction = rng.choice(kernel.instructions())
    now = control.get(instruction.word, GUARD)
    other = rng.choice([n for n in (*range(8), *range(8, 15)) if n != now])
    return f"{instruction.text}: guard {now} to {other}", {instruction.offset: control.put(instruction.word, GUARD, other)}


def bit(kernel, rng):
    """Any bit that is no control field."""
    instruction = rng.choice(kernel.instructions())
    at = rng.choice((*range(105), 126, 127))
    return f"{instruction.text}: bit {at}", {instruction.offset: instruction.word ^ 1 << at}


def target(kernel, rng):
    """Where a branch goes."""
    places = [i for i in kernel.instructions() if i.base in _BRANCH and "`" in i.text]
    if not places:
        return None
    instruction = rng.choice(places)
    at = rng.choice(_TARGET_BITS)
    return f"{instruction.text}: bit {at}", {instruction.offset: instruction.word ^ 1 << at}


def overwrite(kernel, rng):
    """An instruction in the place of another."""
    code = kernel.instructions()
    into, other = rng.choice(code), rng.choice(code)
    return f"{into.text} overwritten by {other.text}", {into.offset: other.word}


def delete(kernel, rng):
    """An instruction that does nothing instead, or those behind it one place up."""
    block = rng.choice(kernel.blocks)
    at = rng.randrange(len(block))
    if rng.random() < 0.5 or at == len(block) - 1:
        return f"{block[at].text} deleted", {block[at].offset: NOP}
    rest = block[at:]
    changes = {i.offset: after.word for i, after in zip(rest, rest[1:])}
    changes[rest[-1].offset] = NOP
    return f"{block[at].text} deleted, those behind it one up", changes


def elsewhere(kernel, rng):
    """Two instructions of two blocks exchanged, or neighbours on the two sides of a border."""
    blocks = [b for b in kernel.blocks if b]
    if len(blocks) < 2:
        return None
    if rng.random() < 0.5:
        n = rng.randrange(len(blocks) - 1)
        first, second = blocks[n][-1], blocks[n + 1][0]
    else:
        one, two = rng.sample(blocks, 2)
        first, second = rng.choice(one), rng.choice(two)
    return f"{first.text} | {second.text} exchanged between blocks", exchange(first, second, rng)


def scramble(kernel, rng):
    """Some neighbours in any order."""
    blocks = [b for b in kernel.blocks if len(b) > 3]
    if not blocks:
        return None
    block = rng.choice(blocks)
    size = rng.randrange(3, min(8, len(block)))
    at = rng.randrange(len(block) - size)
    part = block[at : at + size]
    order = part[:]
    rng.shuffle(order)
    return f"{size} instructions from {part[0].text} in another order", {p.offset: o.word for p, o in zip(part, order)}


KINDS = {
    "swap RAW": _dependent("RAW"),
    "swap WAR": _dependent("WAR"),
    "swap WAW": _dependent("WAW"),
    "swap memory": memory,
    "swap fence": fence,
    "register": register,
    "rename onto live": rename,
    "rename beyond": rename_beyond,
    "immediate": immediate,
    "guard": guard,
    "bit": bit,
    "branch target": target,
    "overwritten": overwrite,
    "deleted": delete,
    "other block": elsewhere,
    "scrambled": scramble,
}


def apply(data, start, changes):
    """The file with other words; `start` is where the code lies."""
    out = bytearray(data)
    for offset, word in changes.items():
        out[start + offset : start + offset + 16] = word.to_bytes(16, "little")
    return bytes(out)

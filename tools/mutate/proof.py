"""Is a damaged file that was accepted as good as the one it was made from? By rules that have nothing to do with the checker.

A reason, or None: then the damage got through. The file before the damage is taken to be right.

* *padding*: other bytes only where no header of the file says that anything is;
* *control fields*: the same instructions at the same places, and either every change is to the safe side, or the judge of the mutation campaign
  knows no rule that the code breaks and the original did not (`judge.py`);
* *values*: a symbolic run of each block that changed gives the same values, events and order (`values.py`), and the judge is content;
* *content*: payloads that decompress to the same, or to images for which the above holds;
* *text*: PTX with the same tokens, comments aside, or two neighbours exchanged that have nothing in common.
"""

import itertools
import re
import tempfile
from pathlib import Path

import containers
import control
import elf
import judge
import rules
import sasstext
import spacing
import values
import wrongcode

_RENAMES = ("register", "rename onto live", "rename beyond")


class Prover:
    """`disassembler` reads listings, `stored` are the judge's rules by pool of architectures."""

    def __init__(self, disassembler, stored):
        self.disassembler, self.stored = disassembler, stored
        for pool, learnt in stored.items():
            learnt.spacings = {key: value for key, value in learnt.spacings.items() if not spacing.disproved(pool, key)}

    def proof(self, good, damaged, kind="", timing=True):
        """Why the damaged file is as good, or None. Without `timing` only what is computed counts, not when."""
        if good == damaged:
            return "the same bytes"
        what = containers.kind(good)
        if what != containers.kind(damaged):
            return None
        if what == "cubin":
            return self.cubin(good, damaged, kind, timing)
        return text(good, damaged) if what == "text" else self.container(good, damaged, kind, timing)

    def container(self, good, damaged, kind="", timing=True):
        """Every byte but those of payloads is the same, or padding behind them; images hold the same or are as good."""
        try:
            before = [e for f in containers.all_fatbinaries(good) for e in f.entries]
            after = [e for f in containers.all_fatbinaries(damaged) for e in f.entries]
        except containers.Damaged:
            return None
        if len(good) != len(damaged) or before != after:
            return None
        excused = sorted((e.payload for e in before), key=lambda r: r.start)
        if any(good[a:b] != damaged[a:b] for a, b in _outside(excused, len(good))):
            return None
        reasons = set()
        for entry in before:
            one, two = (data[entry.payload.start : entry.payload.stop] for data in (good, damaged))
            if one == two:
                continue
            used = len(entry.stored)
            if one[:used] == two[:used]:
                reasons.add("padding")
                continue
            try:
                one, two = containers.unpacked(good, entry), containers.unpacked(damaged, entry)
            except containers.Damaged:
                return None
            if one == two:
                reasons.add("content")
                continue
            reason = self.cubin(one, two, kind, timing) if entry.kind == containers.CUBIN and elf.is_cubin(one) else None
            if reason is None:
                return None
            reasons.add(reason)
        return ", ".join(sorted(reasons)) or "padding"

    def cubin(self, good, damaged, kind="", timing=True):
        if len(good) != len(damaged):
            return None
        places = [n for n, (a, b) in enumerate(zip(good, damaged)) if a != b]
        try:
            covered = elf.covered(good)
            code = elf.text_sections(good)
        except elf.NotACubin:
            return None
        places = [n for n in places if any(n in r for r in covered)]
        if not places:
            return "padding"
        changed = {}
        for place in places:
            name = next((name for name, (start, size) in code.items() if start <= place < start + size), None)
            if name is None:
                return None
            changed.setdefault(name, set()).add((place - code[name][0]) // 16 * 16)
        if _arch(good) < 70:
            return None
        reasons = {self._code(good, damaged, name, offsets, code[name][0], kind, timing) for name, offsets in changed.items()}
        return None if None in reasons else ", ".join(sorted(reasons))

    def _code(self, good, damaged, name, offsets, start, kind, timing):
        pairs = [tuple(int.from_bytes(d[start + o : start + o + 16], "little") for d in (good, damaged)) for o in sorted(offsets)]
        same = all(a & wrongcode.CODE == b & wrongcode.CODE for a, b in pairs)
        if same and all(_safer(a, b) for a, b in pairs):
            return "control fields, to the safe side"
        if same and not timing:
            return "control fields"
        before = self._kernel(good, name)
        if before is None:
            return None
        # nvdisasm does not read all control fields, so it is only asked about instructions that were not there.
        after = _with_words(before, damaged, start) or self._kernel(damaged, name)
        if after is None:
            return None
        if timing and self._hazards(before, _arch(good)) < self._hazards(after, _arch(good)):
            return None
        if same:
            return "control fields, no hazard"
        if [i.offset for i in before.instructions()] != [i.offset for i in after.instructions()] or before.labels != after.labels:
            return None
        blocks, code = _joined(before), after.instructions()
        ends = list(itertools.accumulate(map(len, blocks)))
        others = [code[end - len(block) : end] for block, end in zip(blocks, ends)]
        wanted, also = _wanted(before, blocks), _wanted(after, others)
        for old, new in zip(blocks, others):
            if [i.word for i in old] == [i.word for i in new]:
                continue
            start = old[0].offset
            in_use = None if wanted is None or also is None else wanted[start] | also[start]
            if not values.same(old, new, in_use, kind in _RENAMES):
                return None
        return "values"

    def _kernel(self, data, name):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "k.cubin"
            file.write_bytes(data)
            try:
                listing = self.disassembler.listing(file)
            except (RuntimeError, ValueError, KeyError):
                return None
        return next((k for k in listing.kernels if k.name == name), None)

    def _hazards(self, kernel, arch):
        """Rules that the kernel breaks, by how often."""
        learnt = self.stored.get(rules.pool(arch))
        found = []
        for block in kernel.blocks if learnt else ():
            found += [h.key for h in judge.hazards(learnt, block)]
        return _Counts(found)


def _with_words(kernel, data, start):
    """The kernel with the words of a file, all of which it holds somewhere; else None."""
    known = {i.word & wrongcode.CODE: i for i in kernel.instructions()}
    at = {i.offset: i for i in kernel.instructions()}
    blocks = []
    for block in kernel.blocks:
        made = []
        for old in block:
            word = int.from_bytes(data[start + old.offset : start + old.offset + 16], "little")
            code = word & wrongcode.CODE
            found = old if old.word & wrongcode.CODE == code else known.get(code)
            # What names another place means something else elsewhere.
            if found is None or ("`" in found.text and at[old.offset].word & wrongcode.CODE != code):
                return None
            made.append(found.with_word(word, old.offset))
        blocks.append(made)
    return sasstext.Kernel(kernel.name, blocks, kernel.labels)


# They end a stretch of code that can be timed, but control always goes on behind them.
_GOES_ON = frozenset("YIELD WARPSYNC ACQBULK BREAK BPT".split())


def _joined(kernel):
    """Blocks that end where control may really leave or enter."""
    found, entered = [], set(kernel.labels.values())
    for block in kernel.blocks:
        if found and block[0].offset not in entered and found[-1][-1].base in _GOES_ON:
            found[-1] = found[-1] + block
        else:
            found.append(block)
    return found


class _Counts(dict):
    """How often each; `<` where the other has more of any."""

    def __init__(self, found):
        super().__init__()
        for key in found:
            self[key] = self.get(key, 0) + 1

    def __lt__(self, other):
        return any(other[key] > self.get(key, 0) for key in other)


_ANYWHERE = frozenset("BRX BRXU JMX JMXU JMP UCALL RET.ABS CALL.ABS".split())


def _ways(kernel, blocks):
    """{first offset of a block: first offsets of those that may come next}; None where control may go to code that is not seen."""
    starts = {b[0].offset for b in blocks}
    behind = {b[0].offset: next_[0].offset for b, next_ in zip(blocks, blocks[1:])}
    called = [behind[b[0].offset] for b in blocks if b[-1].base == "CALL" and b[0].offset in behind]
    ways = {}
    for block in blocks:
        last, start = block[-1], block[0].offset
        if last.base in _ANYWHERE or (last.base in ("CALL", "RET") and "REL" not in last.opcode):
            return None
        target = re.search(r"`\(([^)]*)\)", last.text)
        next_ = []
        if last.base in ("BRA", "CALL"):
            if not target or kernel.labels.get(target[1]) not in starts:
                return None
            next_.append(kernel.labels[target[1]])
        elif last.base == "RET":
            if not called:
                return None
            next_ += called
        if (last.base not in ("BRA", "RET", "EXIT", "KILL", "BPT", "RTT") or last.guard or "DIV" in last.opcode) and start in behind:
            next_.append(behind[start])
        ways[start] = next_
    return ways


def _wanted(kernel, blocks):
    """{first offset of a block: registers that something behind it may want}; None where code that is not seen may want any."""
    ways = _ways(kernel, blocks)
    if ways is None:
        return None
    needs, makes = {}, {}
    for block in blocks:
        read, written = set(), set()
        # By register: the guards under which it was written, their predicates unchanged since. Under the same one nothing older is read.
        under = {}
        for i in block:
            # At the end of a kernel nvdisasm shows the stack's register as read.
            reads = _named(i) if i.base in sasstext.CONTROL else i.reads if i.trusted else i.reads | _named(i)
            read |= {r for r in reads - written if i.guard is None or i.guard not in under.get(r, ())}
            written |= set() if i.guard else i.writes
            for register in i.writes if i.guard else ():
                under.setdefault(register, set()).add(i.guard)
            changed = {f"{f}{n}" for f, n in i.writes if f in ("P", "UP")}
            for guards in under.values() if changed else ():
                guards -= {g for g in guards if g.lstrip("!") in changed}
        needs[block[0].offset], makes[block[0].offset] = read, written
    wanted = {start: set() for start in ways}
    changed = True
    while changed:
        changed = False
        for start in sorted(ways, reverse=True):
            now = set().union(*(needs[n] | wanted[n] - makes[n] for n in ways[start]))
            if now != wanted[start]:
                wanted[start], changed = now, True
    return wanted


def _named(instruction):
    """The registers in the text."""
    return {(f, int(n)) for f, n in sasstext.REGISTER.findall(instruction.text)}


def _arch(data):
    flags = int.from_bytes(data[48:52], "little")
    return flags >> 8 & 255 if data[7] == 0x41 else flags & 255


def _safer(old, new):
    """Whether control fields only ask for more: longer stalls, more waits, fewer operands kept, another yield."""
    get = control.get
    boards = all(get(old, f) == get(new, f) for f in (control.WRITE, control.READ))
    waits = get(old, control.WAIT) & ~get(new, control.WAIT) == 0
    reuse = get(new, control.REUSE) & ~get(old, control.REUSE) == 0
    long = get(new, control.STALL) >= get(old, control.STALL) > 0
    return boards and waits and reuse and long


def _outside(ranges, size):
    """(start, end) of what lies between the ranges."""
    at = 0
    for r in ranges:
        if r.start > at:
            yield at, r.start
        at = max(at, r.stop)
    yield at, size


# PTX

_PTX_TOKEN = re.compile(r"\"[^\"]*\"|[%$\w.]+|\S")
_PTX_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_PTX_REGISTER = re.compile(r"%[A-Za-z_]\w*")
_PTX_PLAIN = re.compile(
    r"(add|sub|mul|mad|fma|mov|cvta?|setp|selp|and|or|xor|not|neg|abs|min|max|shl|shr|shf|prmt|bfe|bfi|lop3|div|rem|rcp|sqrt|rsqrt|sin|cos|ex2"
    r"|lg2|tanh|popc|clz|brev|bfind|set|slct|copysign|dp4a|dp2a|cnot)(\.[\w:]+)*$"
)


def tokens(source):
    return _PTX_TOKEN.findall(_PTX_COMMENT.sub(" ", source))


def text(good, damaged):
    try:
        one, two = good.decode(), damaged.decode()
    except UnicodeDecodeError:
        return None
    if tokens(one) == tokens(two):
        return "text"
    return "text, independent neighbours" if _exchanged(one, two) else None


def _statement(line):
    """(registers written, registers read, access to memory) of a line with one instruction; None for any other."""
    line = _PTX_COMMENT.sub(" ", line).strip()
    match = re.fullmatch(r"(@!?%\w+\s+)?([a-z][\w.:]*)\s+([^;]*);", line)
    if not match:
        return None
    guard, opcode, operands = match.groups()
    first, _, rest = operands.partition(",")
    if operands.startswith("{"):
        first, _, rest = operands.partition("}")
    plain = bool(_PTX_PLAIN.match(opcode)) and ".cc" not in opcode and not opcode.startswith(("addc", "subc", "madc"))
    writes = set(_PTX_REGISTER.findall(first)) if not opcode.startswith("st.") else set()
    reads = set(_PTX_REGISTER.findall(rest + " " + (guard or "") + ("" if writes else first)))
    if guard:
        reads |= writes
    return writes, reads, None if plain else _ptx_access(opcode, operands)


def _ptx_access(opcode, operands):
    """(space, base, first byte, byte behind the last, only read) of a plain load or store; () for everything else."""
    match = re.fullmatch(r"(ld|st)\.(global|shared|local|param|const)(?:\.nc)?(\.v[248])?\.[bsuf](8|16|32|64)", opcode)
    place = re.search(r"\[\s*(%?[\w$]+)\s*(?:\+\s*(-?\d+))?\s*\]", operands)
    if not match or not place:
        return ()
    start = int(place[2] or 0)
    return match[2], place[1], start, start + int(match[4]) // 8 * int((match[3] or ".v1")[2:]), match[1] == "ld"


def _ptx_apart(one, two):
    if one is None or two is None:
        return True
    if not one or not two:
        return False
    if one[4] and two[4] or one[0] != two[0]:
        return True
    return one[1] == two[1] and (one[3] <= two[2] or two[3] <= one[2])


def _unread_result(source, old, new):
    """Whether an instruction only has another register for its result, and nobody reads either of them."""
    one, two = _statement(old), _statement(new)
    if one is None or two is None or "{" in old or len(one[0] - two[0]) != 1 or len(two[0] - one[0]) != 1:
        return False
    (was,), (is_,) = one[0] - two[0], two[0] - one[0]
    only = old.replace(was, is_, 1) == new
    return only and not any(s and {was, is_} & s[1] for s in map(_statement, source.split("\n"))) and not any(
        re.search(rf"{re.escape(r)}\b", line) for r in (was, is_) for line in source.split("\n") if _statement(line) is None
    )


def _function(lines, place):
    """The lines of the function around a place: registers are each function's own."""
    starts = [n for n, line in enumerate(lines) if re.match(r"\s*(\.\w+\s+)*\.(entry|func)\b", line)]
    first = max((n for n in starts if n <= place), default=0)
    return lines[first : min((n for n in starts if n > place), default=len(lines))]


def _exchanged(one, two):
    """Whether lines that are not where they were have nothing in common with what they crossed."""
    before, after = one.split("\n"), two.split("\n")
    if len(before) != len(after):
        return False
    places = [n for n, (a, b) in enumerate(zip(before, after)) if a != b]
    if not places or places[-1] - places[0] > 200:
        return False
    if len(places) == 1:
        return _unread_result("\n".join(_function(before, places[0])), before[places[0]], after[places[0]])
    stretch = slice(places[0], places[-1] + 1)
    # Lines of sources that `.loc` names are no code.
    code = lambda line: (text := _PTX_COMMENT.sub(" ", line).strip()) and not text.startswith(".loc")
    old, new = ([line for line in lines[stretch] if code(line)] for lines in (before, after))
    if sorted(old) != sorted(new) or len(set(old)) != len(old):
        return False
    statements = {line: _statement(line) for line in old}
    if None in statements.values():
        return False
    at = {line: n for n, line in enumerate(new)}
    for n, first in enumerate(old):
        for second in old[n + 1 :]:
            if at[first] > at[second]:
                (w1, r1, a1), (w2, r2, a2) = statements[first], statements[second]
                if w1 & (r2 | w2) or w2 & r1 or not _ptx_apart(a1, a2):
                    return False
    return True

"""Do two versions of a block compute the same? A small symbolic run over nvdisasm's text; silence is no proof of difference.

Registers start with unknown values. An instruction makes new values from what it is and the values that it reads. Accesses to memory and everything
that is not plain arithmetic are events: they have to be the same events, and every two that may concern each other in the same
order. At the end every register that is still in use holds the same value.
"""

import collections
import re

import sasstext
import wrongcode

# Values come from sources alone, for each thread by itself.
_ARITHMETIC = re.compile(
    r"(IADD3?|IMAD|IMUL|ISCADD|LEA|LOP3|LOP|SHF|SHL|SHR|PRMT|SEL|MOV|MOV64I?|IMNMX|VIMNMX3?|VIADD(MNMX)?|IABS|ISETP|ICMP|BMSK|SGXT|POPC|FLO|BREV|IDP"
    r"|FADD2?|FMUL2?|FFMA2?|FMNMX3?|FSEL|FSETP|FSET|FCHK|MUFU|RRO|DADD|DMUL|DFMA|DSETP|DMNMX|HADD2|HMUL2|HFMA2|HMNMX2|HSETP2|HSET2"
    r"|F2FP?|F2IP?|I2FP?|I2IP?|FRND|PLOP3|PSETP|P2R|R2P|CSEL|LDC|ULDC|LDCU|IADD64|VABSDIFF4?|I2I|UIADD3|UIMAD|ULEA|ULOP3|USHF|USEL|UMOV"
    r"|UISETP|UPLOP3|UPRMT|USGXT|UBMSK|UP2UR|UR2UP|UIMNMX|UVIADD|UVIMNMX|UFLO|UPOPC|UBREV|HMMA|IMMA|QMMA|DMMA|UIABS|FSWZADD)"
)
_SPACES = {"LDS": "shared", "STS": "shared", "ATOMS": "shared", "LDSM": "shared", "STSM": "shared", "LDL": "local", "STL": "local",
           "LDG": "global", "STG": "global", "ATOMG": "global", "RED": "global", "REDG": "global",
           "TEX": "texture", "TLD": "texture", "TLD4": "texture", "TXD": "texture", "TMML": "texture", "TXQ": "texture",
           "SHFL": "warp", "VOTE": "warp", "MATCH": "warp", "REDUX": "warp", "VOTEU": "warp", "R2UR": "warp"}
_FIXED = re.compile(r"\b(SRZ|SR_(TID|CTAID|NTID|NCTAID|LANEID|LTMASK|EQMASK|GEMASK|GTMASK|LEMASK|CgaCtaId|SWINLO|VIRTID))\b")
_ADDRESS = re.compile(r"\[([^\[\]]*)\]$")
_WIDTH = re.compile(r"\.(8|U8|S8|16|U16|S16|64|128)\b")
_ENDS = frozenset(("EXIT", "KILL"))
_CALLS = frozenset("CALL UCALL RET BRX BRXU JMX JMXU".split())


class Untold(Exception):
    """The text does not tell enough."""


def _shape(instruction):
    """The instruction with registers left out, and without control fields."""
    text = sasstext.REGISTER.sub(lambda m: m[1], instruction.text.replace(".reuse", ""))
    return re.sub(r"@!?U?P\w*", lambda m: m[0][: 2 if "!" in m[0] else 1], text)


def _plain(instruction):
    """Whether it only makes values of values."""
    constant = instruction.base == "LDG" and "CONSTANT" in instruction.opcode
    special = instruction.base in ("S2R", "S2UR", "CS2R", "CS2UR") and _FIXED.search(instruction.text)
    return bool(constant or special or _ARITHMETIC.fullmatch(instruction.base))


def _access(instruction, values):
    """(space, address values, first byte, byte behind the last, only read); None where it may be anything."""
    space = _SPACES.get(instruction.base)
    if space == "texture":
        return space, None, 0, 0, True
    # Reductions give nothing back: at other addresses nobody can tell in which order they were.
    reduces = instruction.base in ("RED", "REDG") or instruction.base == "ATOMS" and instruction.operands[0].text == "RZ"
    reduces = reduces and not re.search(r"MMIO|VOLATILE|SYS", instruction.opcode)
    plain = reduces or space and not re.search(r"STRONG|MMIO|VOLATILE|ATOM|RED|LDSM|STSM", instruction.opcode)
    if not plain:
        return space, None, 0, 0, False
    found = [m for o in instruction.operands if (m := _ADDRESS.search(o.text))]
    if len(found) != 1 or "desc" in found[0][1]:
        found = [m for m in found if "desc" not in m[1]]
    width = _WIDTH.search(instruction.opcode)
    size = {"8": 1, "U8": 1, "S8": 1, "16": 2, "U16": 2, "S16": 2, "64": 8, "128": 16}[width[1]] if width else 4
    # What only looks at other threads of the warp changes nothing for the next one.
    read = instruction.base.startswith("LD") or space == "warp"
    if len(found) != 1:
        return space, None, 0, 0, read
    offset, registers = 0, []
    for part in found[0][1].split("+"):
        if re.fullmatch(r"-?0x[0-9a-f]+", part):
            offset += int(part, 16)
        elif match := re.fullmatch(r"(UR|R)(\d+)(\.64|\.U32|\.X\d+)?", part):
            wide = match[3] == ".64"
            registers.append((match[3] or "", *(values[match[1], int(match[2]) + i] for i in range(1 + wide))))
        elif part not in ("RZ", "URZ", "RZ.64"):
            return space, None, 0, 0, read
    return space, tuple(registers), offset, offset + size, read


def _apart(one, two):
    """Whether two events cannot concern each other."""
    (first, guard), (second, other) = one[1:], two[1:]
    if first is None or second is None:
        return False
    if guard and other and guard[0] == other[0] and guard[1] != other[1]:
        return True
    if first[0] is None or second[0] is None:
        return False
    if first[0] != second[0]:
        return True
    if first[4] and second[4]:
        return True
    known = first[1] is not None and first[1] == second[1]
    return known and (first[3] <= second[2] or second[3] <= first[2])


def _select(guard, new, old):
    """A value under a guard; those under both sides of one are one value."""
    value, negated = guard
    if isinstance(old, tuple) and old[0] == "if" and old[1] == value and old[2] != negated:
        pair = (old[3], new) if negated else (new, old[3])
        return ("either", value, *pair)
    return ("if", value, negated, new, old)


def _under(guard, value):
    """The value as those see it for whom the guard holds."""
    while guard and isinstance(value, tuple) and value[0] in ("if", "either") and value[1] == guard[0]:
        if value[0] == "either":
            value = value[3] if guard[1] else value[2]
        else:
            value = value[3] if value[2] == guard[1] else value[4]
    return value


class _Numbers:
    """Values as small numbers, so that comparing them costs nothing."""

    def __init__(self):
        self.known = {}

    def of(self, value):
        return self.known.setdefault(value, len(self.known))


def _run(block, by_word, numbers):
    """({register: value}, [(event, access, guard)])"""
    seen = collections.Counter()

    class Values(dict):
        called = None

        def __missing__(self, register):
            self[register] = ("in" if self.called is None else self.called, *register)
            return self[register]

    values, events = Values(), []
    for i in block:
        if i.guard in ("!PT", "!UPT"):
            continue  # never runs
        if i.base in _CALLS:
            # Somebody else's code: it may read and write anything.
            everything = numbers.of((i.word & wrongcode.CODE, i.offset, tuple(sorted((r, numbers.of(v)) for r, v in values.items() if v != ("in", *r)))))
            events.append((everything, None, None))
            values.clear()
            values.called = everything
            continue
        if not i.trusted and not by_word:
            raise Untold(i.text)
        shape = i.word & wrongcode.CODE if by_word else _shape(i)
        if i.base == "BRA" or "`" in i.text:
            shape = (shape, i.offset, i.text)
        guard = None
        if i.guard and (match := re.fullmatch(r"(!?)(UP|P)(\d)", i.guard)):
            guard = (numbers.of(values[match[2], int(match[3])]), bool(match[1]))
        elif i.guard:
            raise Untold(i.text)
        results = i.results()
        sources = [r[:2] for n, o in enumerate(i.operands) if n not in results for r in o.registers]
        named = tuple(numbers.of(_under(guard, values[r])) for r in sources if r in i.reads)
        # What the text does not tell goes by the names of registers.
        role = lambda found, r: found(r) if i.trusted else r
        placed = tuple(sorted((role(i.role_read, r), numbers.of(_under(guard, values[r]))) for r in i.reads))
        what = (shape, named, placed)
        if not _plain(i):
            access = _access(i, values) if i.base in _SPACES else None
            seen[what] += 1
            what = (*what, seen[what])
            events.append((numbers.of(what), access, guard))
        made = {r: ("made", numbers.of(what), *role(i.role_written, r)) for r in i.writes}
        for register, value in made.items():
            values[register] = _select(guard, value, values[register]) if guard else value
    return values, events


def _ordered(before, after):
    """Whether the events are the same, and those that may concern each other in the same order."""
    if before == after:
        return True
    place = {event: n for n, (event, _, _) in enumerate(after)}
    if sorted(e for e, _, _ in before) != sorted(place) or len(place) != len(before):
        return False
    for n, one in enumerate(before):
        for two in before[n + 1 :]:
            if place[one[0]] > place[two[0]] and not _apart(one, two):
                return False
    return True


def same(before, after, in_use, renamed=False):
    """Whether two blocks compute the same; `in_use` are registers that may be wanted behind them, None where all are.

    With each instruction as its word; where registers have other names, also as its text without them.
    """
    for by_word in (True, False) if renamed else (True,):
        numbers = _Numbers()
        try:
            one, first = _run(before, by_word, numbers)
            two, second = _run(after, by_word, numbers)
        except Untold:
            return False
        if not _ordered(first, second):
            continue
        registers = set(one) | set(two)
        if in_use is not None:
            registers &= in_use
        last = before[-1]
        if last.base in _ENDS and not last.guard and after[-1].word & wrongcode.CODE == last.word & wrongcode.CODE:
            registers = set()
        if all(one[r] == two[r] for r in registers):
            return True
    return False

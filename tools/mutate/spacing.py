"""How soon instructions follow each other, apart from reading results: what the hardware does not wait for.

Five rules, each about two instructions of a block with no wait and nothing slow between:

* `pipe`: the second goes into the pipe that the first still occupies,
* `settle`: the second (BSYNC) gives the warp's turn to other threads,
* `overwritten`: the second overwrites a source of the first, which sets no scoreboard,
* `addend`: the second, a matrix instruction, adds to the result of the first, which sets no scoreboard,
* `state`: the second uses or changes what the first changes, and no register shows it.

ptxas's smallest distance is learnt for each key. It is a floor where pairs were seen often, in several kernels, and:

* `pipe`: it was hit often, in several sequences of opcodes, and is the same as between two of the first's own opcode: how long
  a pipe is busy is the first one's doing;
* `settle`: little more than a quarter of it is demanded: there are too few BSYNC for the lowest seen to be the lowest there is;
* `overwritten`: it was hit often, in several sequences of opcodes;
* `addend`: it is the smallest before any reader of the result: chains alone are too few. The thinnest rule: a handful of readers
  in one kernel is enough, since a corpus of small kernels has no more;
* `state`: it was hit often, in many kernels and several sequences of opcodes, and most pairs are that close.
"""

import collections

import control
import flow
from rules import FAR

PIPE, SETTLE, OVERWRITTEN, ADDEND, STATE = RULES = ("pipe", "settle", "overwritten", "addend", "state")
PIPE_REACH = 8  # cycles
SEEN, HIT, KERNELS, CONTEXTS = 15, 5, 3, 3
PIPE_SEEN, ADDEND_SEEN = 200, 5
STATE_REACH, STATE_SEEN, STATE_KERNELS = 15, 100, 10  # cycles, pairs, kernels
# Opcodes that share what no register shows, whoever comes first.
SHARED = tuple(
    frozenset(names.split())
    for names in (
        "BAR B2R R2B",
        "VOTE VOTEU MATCH REDUX CREDUX ELECT",
        "UCGABAR_ARV UCGABAR_WAIT CGAERRBAR",
        "MEMBAR ERRBAR FENCE",
        "BSSY BSYNC BREAK WARPSYNC BMOV YIELD NANOSLEEP",
    )
)
MATRIX, UNIFORM, ARITHMETIC = "matrix", "uniform", "arithmetic"
EARLY = frozenset("ULDC UMOV VOTEU".split())  # write uniform registers sooner than uniform arithmetic does
ADDEND_ROLE = "op3"


def _near(block, i):
    """(index, cycles) of those behind `block[i]` with no wait and nothing slow between."""
    first = block[i]
    distance, never_waits = first.stall, first.stall != 0
    for j in range(i + 1, len(block)):
        second = block[j]
        never_waits &= second.waits == 0
        if not never_waits or distance > FAR or not second.trusted:
            return
        yield j, distance
        if second.base in flow.SLOW or second.stall == 0:
            return
        distance += second.stall


def _runs(instruction):
    return instruction.guard not in ("!PT", "!UPT") and not flow.asynchronous(instruction)


def _silent(instruction):
    return instruction.write_board == control.NONE and instruction.read_board == control.NONE


def _reader(rules, first):
    """The group of an instruction that reads its sources at a fixed time; None for others."""
    kind = flow.family(first.base)
    if not _silent(first) or kind == "double":
        return None
    if kind == MATRIX:
        return first.opcode
    return _math(rules, first)


def _math(rules, first):
    """Which kind of arithmetic of fixed latency; None for others."""
    if first.base in rules.decoupled or first.base in flow.SLOW or flow.family(first.base) != "other":
        return None
    return UNIFORM if first.base.startswith("U") else ARITHMETIC


def _writer(rules, second, uniform):
    """The group of what overwrites; None where nothing is tried."""
    if uniform:
        return "early" if second.base in EARLY else None
    kind = flow.family(second.base)
    return kind if second.base in rules.variable or kind == MATRIX else "fixed"


def _share(first, second):
    return any(first.base in names and second.base in names for names in SHARED)


def _shape(opcode):
    """`HMMA.16816` of `HMMA.16816.F32.BF16`."""
    return ".".join(opcode.split(".")[:2])


def pairs(rules, block, i):
    """(key, register, index of the second, cycles) for every rule in which `block[i]` comes first; keys are
    (rule, first, second, register file)."""
    first = block[i]
    if not first.trusted or not _runs(first):
        return
    name = flow.name(first.opcode)
    reader = _reader(rules, first)
    sources = {r for r in first.reads if reader and r[0] in ("R", "UR") and first.role_read(r)[0] != "guard"}
    sources = {r for r in sources if r[0] == ("UR" if reader == UNIFORM else "R")}
    results = set(first.writes) if flow.family(first.base) == MATRIX and first.write_board == control.NONE else set()
    between = set()
    for j, distance in _near(block, i):
        second = block[j]
        if _runs(second):
            if distance <= PIPE_REACH and second.base not in flow.SLOW:
                yield (PIPE, name, flow.name(second.opcode), ""), None, j, distance
            if distance <= STATE_REACH and _share(first, second):
                yield (STATE, _shape(first.opcode), _shape(second.opcode), ""), None, j, distance
            if second.base == "BSYNC" and (kind := _math(rules, first)):
                mark = "+P" if any(r[0] == "P" for r in first.writes) else ""
                yield (SETTLE, kind + mark, "BSYNC", ""), None, j, distance
            if flow.guards_meet(first, second, between):
                overwritten, writer = sources & second.writes, _writer(rules, second, reader == UNIFORM)
                if overwritten and writer:
                    register = min(overwritten)
                    yield (OVERWRITTEN, reader, writer, register[0]), register, j, distance
                if read := results & second.reads:
                    register = min(read)
                    adds = flow.family(second.base) == MATRIX and second.role_read(register)[0] == ADDEND_ROLE
                    yield (ADDEND, _shape(first.opcode), "adds" if adds else "reads", "R"), register, j, distance
        sources -= second.writes
        results -= second.writes
        between |= second.writes


def disproved(arch, key):
    """Whether libraries that NVIDIA ships break the rule, and it only says how ptxas likes to issue.

    Before sm_90 busy pipes of arithmetic, conversions, memory, special registers and constants hold a warp back by themselves (cuDNN 9.27 and cuBLAS 12.9: ISETP
    and IADD3, IMAD.WIDE and IMAD, F2F and F2F, STS and STS one cycle apart, S2R and S2R, LDC and LDC, UISETP and UMOV, DMUL and DFMA closer than ptxas leaves them), that
    of constants does everywhere (catboost 1.2 on sm_90: LDC and S2UR 2; cuDNN 9.27 on sm_100 and sm_120: LDC and LDC). Arithmetic may stand right before BSYNC on sm_70
    (NVSHMEM 3.8), and HMMA may overwrite a register in the cycle behind arithmetic that reads it on sm_80 (flash attention 2 and libtorch 2.11).
    """
    rule, first, *rest = key
    base = first.split(".")[0]
    if rule == PIPE:
        return flow.family(base) != MATRIX if arch < 90 else base in ("LDC", "S2UR")
    if rule == OVERWRITTEN and arch == 80:
        return first == ARITHMETIC and rest[0] == MATRIX
    return rule == SETTLE and arch < 80 and first == ARITHMETIC


class Spacings:
    """Counts distances; `conclude` says which are floors."""

    def __init__(self):
        self.seen = collections.Counter()
        self.kernels = collections.defaultdict(set)
        self.lowest = {}
        self.hits = collections.defaultdict(lambda: [0, set(), set()])  # times, kernels and contexts of the lowest

    def learn(self, rules, kernel, block, number):
        """`kernel` is its name, `number` tells kernels of one name apart."""
        names = tuple(flow.name(i.opcode) for i in block)
        for i in range(len(block)):
            for key, _, j, distance in pairs(rules, block, i):
                self.seen[key] += 1
                if len(self.kernels[key]) < STATE_KERNELS:
                    self.kernels[key].add(number if key[0] == STATE else kernel)
                lowest = self.lowest.get(key, FAR + 1)
                if distance < lowest:
                    self.lowest[key] = distance
                    self.hits[key] = [0, set(), set()]
                if distance <= lowest:
                    times = self.hits[key]
                    times[0] += 1
                    if len(times[1]) < KERNELS:
                        times[1].add(number if key[0] == STATE else kernel)
                    if len(times[2]) < CONTEXTS:
                        times[2].add(names[max(0, i - 1) : j + 1])

    def _firm(self, key, seen=SEEN):
        times, kernels, contexts = self.hits[key]
        return self.seen[key] >= seen and times >= HIT and len(kernels) >= KERNELS and len(contexts) >= CONTEXTS

    def _often(self, key):
        return self.seen[key] >= SEEN and len(self.kernels[key]) >= KERNELS

    def conclude(self):
        """{key: (fewest cycles, how often seen, how often at the fewest)}"""
        floors = {}
        for key, lowest in self.lowest.items():
            rule, first, second, file = key
            value = (lowest, self.seen[key], self.hits[key][0])
            if rule == PIPE:
                own = (PIPE, first, first, "")
                if lowest > 1 and self.lowest.get(own) == lowest and self._firm(key, PIPE_SEEN) and self._firm(own):
                    floors[key] = value
            elif rule == SETTLE:
                if self._often(key) and lowest > 1:
                    floors[key] = (max(2, lowest // 4 + 1), *value[1:])
            elif rule == OVERWRITTEN:
                if lowest > 1 and self._firm(key):
                    floors[key] = value
            elif rule == STATE:
                most = 2 * self.hits[key][0] > self.seen[key]
                if lowest > 1 and most and len(self.kernels[key]) >= STATE_KERNELS and self._firm(key, STATE_SEEN):
                    floors[key] = value
            elif second == "reads" and self.seen[key] >= ADDEND_SEEN:
                adds = (ADDEND, first, "adds", file)
                floors[adds] = (min(lowest, self.lowest.get(adds, lowest)), *value[1:])
        return floors


def broken(rules, block, i):
    """(key, register, index of the second, cycles) of the pairs that are too close."""
    for key, register, j, distance in pairs(rules, block, i):
        if key in rules.spacings and distance < rules.spacings[key][0]:
            yield key, register, j, distance

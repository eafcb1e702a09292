"""Makes mutants: ptxas code with one thing changed, kept only where the judge is certain that it is unsafe now.

* `stall`: an instruction's stall is one less, or 1.
* `wait`: one bit of a wait mask is cleared.
* `board`: a write or read scoreboard gets another number, or none.
* `swap`: two adjacent dependent instructions change places, and a hazard of time is certain in the new order. Control fields
  either stay at their place (`stay`) or travel with their instruction (`move`).
* `reuse`: a source that the instruction itself overwrites stays at hand for the next instruction, which reads it from the same place. ptxas never
  does that.
* `acquire`: a NOP or CCTL that waits for a load or an atomic does so no longer: what stands behind may be issued before the value is there. Only a
  comparison with the original can know; counted with `order`.
* `order`: such a swap where only the values are certain to change. A checker of stalls and scoreboards that sees one file
  cannot know; one that compares with the original can. Counted apart.
"""

import random
from dataclasses import dataclass, field

import control
import flow
import judge
import rules
import sasstext
import spacing

WINDOW = flow.LOOKAHEAD
KINDS = ("stall", "wait", "board", "swap", "reuse", "order", "acquire")
COMPARED = ("order", "acquire")  # only a comparison with the original can find them
_LOADS = frozenset("LD LDG LDS ATOM ATOMG ATOMS".split())
_ORDERING = frozenset(("NOP", "CCTL"))
# Instructions of fixed latency whose first source is a register in the lowest place.
_KEEPS = frozenset("IADD3 IMAD LOP3 FADD FMUL FFMA".split())
_FIRST_PLACE = (24, 8)
_MOST_STALL = 11  # flags mean nothing with a longer one

_CLASSES = {
    "predicate": "ISETP FSETP HSETP2 DSETP PLOP3 UISETP UPLOP3 P2R R2P VOTE VOTEU FCHK UP2UR UR2UP PSETP R2UR",
    "half": "HADD2 HMUL2 HFMA2 HMNMX2 HSET2",
    "double": "DADD DFMA DMUL DMMA DMNMX",
    "matrix": "HMMA IMMA BMMA QMMA OMMA",
    "float": "FADD FMUL FFMA FMNMX FSEL FSWZADD FMNMX3 FADD2 FMUL2 FFMA2",
    "special": "MUFU F2F F2I I2F FRND POPC FLO BREV",
    "global": "LD LDG ST STG ATOM ATOMG RED REDG LDL STL",
    "shared": "LDS LDSM STS STSM ATOMS SHFL MATCH",
    "constant": "LDC LDCU ULDC",
    "system": "S2R S2UR CS2R B2R REDUX CREDUX BAR",
}
_CLASS = {opcode: name for name, opcodes in _CLASSES.items() for opcode in opcodes.split()}


def opcode_class(base):
    if base in _CLASS:
        return _CLASS[base]
    return "uniform" if base.startswith("U") else "integer"


@dataclass
class Mutant:
    kind: str
    detail: str
    kernel: str
    block: tuple  # (first offset, last offset) of the block
    changes: list  # (offset, old word, new word)
    hazards: list
    texts: list  # the instructions from the first place involved to the last
    producer: str
    consumer: str
    register_file: str
    path: str = ""
    arch: int = 0
    id: int = 0

    @property
    def stratum(self):
        rule = self.hazards[0].rule if self.hazards else "order"
        return (self.kind, rule, self.register_file, opcode_class(self.producer))

    def record(self):
        return {
            "id": self.id, "file": self.path, "arch": self.arch, "kernel": self.kernel, "kind": self.kind,
            "detail": self.detail, "offset": self.changes[0][0], "block": list(self.block),
            "register_file": self.register_file, "opcode": self.producer, "class": opcode_class(self.producer),
            "consumer": self.consumer,
            "changes": [{"offset": o, "old": f"{a:032x}", "new": f"{b:032x}"} for o, a, b in self.changes],
            "hazards": [h.record() for h in self.hazards],
            "reason": self.hazards[0].reason if self.hazards else self.detail,
            "text": self.texts,
        }

    @classmethod
    def from_record(cls, record):
        return cls(
            record["kind"], record["detail"], record["kernel"], tuple(record["block"]),
            [(c["offset"], int(c["old"], 16), int(c["new"], 16)) for c in record["changes"]],
            [judge.Hazard(**h) for h in record["hazards"]], record["text"], record["opcode"], record["consumer"],
            record["register_file"], record["file"], record["arch"], record["id"],
        )


def _window(block, i):
    low = max(0, i - WINDOW)
    return block[low : i + WINDOW + 2], i - low


def _fields(instruction):
    return control.get(instruction.word, control.ALL)


class Maker:
    """Makes the mutants of one instruction at a time."""

    def __init__(self, learnt, rng):
        self.rules, self.rng = learnt, rng

    def at(self, kernel, block, i):
        """All certain mutants that change `block[i]` (a swap: and its successor)."""
        for kind, detail, word, producers in self._field_changes(block, i):
            window, at = _window(block, i)
            window[at] = block[i].with_word(word)
            shift = i - at
            # A shorter stall brings no more than the pairs closer together that it stands between.
            reach = rules.FAR if kind == "stall" else None
            found = judge.hazards(self.rules, window, [p - shift for p in producers if p >= shift], reach)
            if found:
                yield self._mutant(kernel, block, window, kind, detail, [(block[i].offset, block[i].word, word)], found)
        yield from self._swaps(kernel, block, i)
        yield from self._kept(kernel, block, i)
        yield from self._acquires(kernel, block, i)

    def _kept(self, kernel, block, i):
        pair = block[i : i + 2]
        if len(pair) < 2 or any(p.base not in _KEEPS or p.guard is not None or not p.trusted for p in pair):
            return
        first, second = pair
        number = control.get(first.word, _FIRST_PLACE)
        register = ("R", number)
        legal = 0 < first.stall <= _MOST_STALL
        same = control.get(second.word, _FIRST_PLACE) == number
        if legal and same and register in first.reads & first.writes and register in second.reads:
            # Nothing stays at hand where the warp yields.
            word = control.put(first.word, control.YIELD, 1)
            word = control.put(word, control.REUSE, control.get(word, control.REUSE) | 1)
            window, at = _window(block, i)
            window[at] = first.with_word(word)
            reason = f"{first.base} overwrites R{number}, which it keeps for {second.base}"
            found = [judge.Hazard("reuse", "reuse", f"R{number}", first.offset, second.offset, None, None, reason)]
            yield self._mutant(kernel, block, window, "reuse", f"keep R{number}", [(first.offset, first.word, word)], found)

    @staticmethod
    def _acquires(kernel, block, i):
        fence = block[i]
        waits = control.get(fence.word, control.WAIT)
        for board in control.BOARDS if fence.base in _ORDERING and waits else ():
            if not waits >> board & 1:
                continue
            for p in range(i - 1, max(-1, i - WINDOW), -1):
                if control.get(block[p].word, control.WAIT) >> board & 1:
                    break
                if block[p].base in _LOADS and block[p].write_board == board:
                    word = control.put(fence.word, control.WAIT, waits & ~(1 << board))
                    yield Mutant(
                        "acquire", f"drop {board}", kernel.name, (block[0].offset, block[-1].offset), [(fence.offset, fence.word, word)], [],
                        _texts(block, p, i), block[p].base, fence.base, "R",
                    )
                    break

    def _field_changes(self, block, i):
        """(kind, detail, new word, the producers that may suffer)"""
        instruction = block[i]
        word, stall = instruction.word, instruction.stall
        if stall > 1:
            near = self._within(block, i)
            yield "stall", "less 1", control.put(word, control.STALL, stall - 1), near
            if stall > 2:
                yield "stall", "to 1", control.put(word, control.STALL, 1), near
        waits = control.get(word, control.WAIT)
        for board in control.BOARDS:
            if waits >> board & 1:
                users = [p for p in range(max(0, i - WINDOW), i) if board in (block[p].write_board, block[p].read_board)]
                if users:
                    yield "wait", f"drop {board}", control.put(word, control.WAIT, waits & ~(1 << board)), users
        for name, where, now in (
            ("write", control.WRITE, instruction.write_board),
            ("read", control.READ, instruction.read_board),
        ):
            if now != control.NONE:
                other = self.rng.choice([b for b in control.BOARDS if b != now])
                yield "board", f"{name} {now} to {other}", control.put(word, where, other), [i]
                yield "board", f"{name} {now} to none", control.put(word, where, control.NONE), [i]

    @staticmethod
    def _within(block, i):
        """Producers close enough that a cycle less may matter, the instruction itself among them."""
        found, cycles = [], 0
        for p in range(i, -1, -1):
            cycles += block[p].stall
            if cycles > rules.FAR:
                break
            found.append(p)
        return found

    def _swaps(self, kernel, block, i):
        if i + 1 >= len(block) or not (_movable(block[i]) and _movable(block[i + 1])):
            return
        first, second = block[i], block[i + 1]
        shared = dependence(first, second)
        if shared is None:
            return
        layout = self.rng.choice(("stay", "move"))
        one, two = second.word, first.word
        if layout == "stay":
            one, two = control.put(one, control.ALL, _fields(first)), control.put(two, control.ALL, _fields(second))
        window, at = _window(block, i)
        window[at] = second.with_word(one, first.offset)
        window[at + 1] = first.with_word(two, second.offset)
        changes = [(first.offset, first.word, one), (second.offset, second.word, two)]
        found = judge.hazards(self.rules, window, [p for p in range(at - 40, at + 2) if p >= 0])
        kind, register = shared
        if found:
            yield self._mutant(kernel, block, window, "swap", f"{layout}, {kind} on {register[0]}{register[1]}", changes, found)
        elif first.guard is None and second.guard is None:
            yield Mutant(
                "order", f"{layout}, {kind} on {register[0]}{register[1]}: {first.base} and {second.base} swapped",
                kernel.name, (block[0].offset, block[-1].offset), changes, [], _texts(window, at, at + 1),
                first.base, second.base, register[0],
            )

    @staticmethod
    def _mutant(kernel, block, window, kind, detail, changes, found):
        places = {i.offset: n for n, i in enumerate(window)}
        # The rarest rule names the mutant.
        found = sorted(found, key=lambda hazard: hazard.rule != spacing.ADDEND)
        worst = found[0]
        involved = [places[worst.producer], places[worst.consumer]] + [places[o] for o, _, _ in changes]
        return Mutant(
            kind, detail, kernel.name, (block[0].offset, block[-1].offset), changes, found,
            _texts(window, min(involved), max(involved)),
            window[places[worst.producer]].base, window[places[worst.consumer]].base,
            worst.register.rstrip("0123456789"),
        )


def _texts(window, low, high):
    """The lines from `low` to `high`, control fields first, as they stand in the mutant."""
    lines = []
    for i in window[low : high + 1]:
        waits = "".join(str(b) if control.get(i.word, control.WAIT) >> b & 1 else "-" for b in control.BOARDS)
        write, read = ("-" if b == control.NONE else str(b) for b in (i.write_board, i.read_board))
        lines.append(f"{i.offset:05x} {waits} r{read} w{write} s{i.stall:<2} {i.text}")
    return lines


def _movable(instruction):
    return (
        instruction.trusted and not flow.asynchronous(instruction) and instruction.base not in sasstext.CONTROL
        and instruction.base not in flow.SLOW and instruction.base not in ("NOP", "BSSY", "BMOV", "LEPC", "MOVM")
        and "`" not in instruction.text and "@" not in instruction.text.lstrip("@")
    )


def dependence(first, second):
    """The strongest (kind, register) by which the second depends on the first."""
    for kind, registers in (
        (flow.RAW, first.writes & second.reads),
        (flow.WAW, first.writes & second.writes),
        (flow.WAR, first.reads & second.writes),
    ):
        if registers and first.text != second.text and flow.guards_meet(first, second, set()):
            return kind, min(registers)
    return None


@dataclass
class Pool:
    """Mutants by stratum, a bounded number of each."""

    cap: int
    strata: dict = field(default_factory=dict)

    def offer(self, mutant):
        found = self.strata.setdefault(mutant.stratum, [])
        if len(found) < self.cap:
            found.append(mutant)

    def size(self, orders=False):
        return sum(len(m) for s, m in self.strata.items() if (s[0] in COMPARED) == orders)

    def draw(self, count, orders=False):
        """Up to `count` mutants, taken from the strata in turn."""
        queues = [list(reversed(m)) for s, m in sorted(self.strata.items()) if (s[0] in COMPARED) == orders]
        drawn = []
        while queues and len(drawn) < count:
            for queue in queues:
                if len(drawn) < count:
                    drawn.append(queue.pop())
            queues = [q for q in queues if q]
        return drawn


def _rare(block, i):
    """Before a BSYNC, or among matrix instructions and uniform arithmetic."""
    near = block[i : i + 2]
    return any(flow.family(n.base) == "matrix" or n.base.startswith("U") or n.base == "BSYNC" for n in near)


def sample(learnt, listings, count, seed, effort=15000):
    """`count` mutants of `{path: listing}` (all of one architecture), spread over strata; order swaps beside them."""
    rng = random.Random(seed)
    places = [
        (path, kernel, block, i)
        for path, listing in sorted(listings.items())
        for kernel in listing.kernels
        for block in kernel.blocks
        for i in range(len(block))
    ]
    rng.shuffle(places)
    # Some rules are about few instructions: those places come first, as far as a third of the effort goes.
    rare = [place for place in places if _rare(place[2], place[3])][: effort // 3]
    taken = {(path, kernel.name, block[i].offset) for path, kernel, block, i in rare}
    places = rare + [p for p in places if (p[0], p[1].name, p[2][p[3]].offset) not in taken]
    maker, pool = Maker(learnt, rng), Pool(max(8, count // 10))
    for n, (path, kernel, block, i) in enumerate(places[:effort]):
        for mutant in maker.at(kernel, block, i):
            mutant.path, mutant.arch = str(path), listings[path].arch
            pool.offer(mutant)
        if n > effort // 3 and pool.size() >= 3 * count:
            break
    return pool.draw(count), pool.draw(max(1, count // 20), orders=True)

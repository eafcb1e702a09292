"""What ptxas never does, as rules that can be asked and stored: the ground on which a mutant is called unsafe.

`evidence` learns them from ptxas's output; `judge` applies them.
"""

import collections
import json

import control
import flow

FAR = 40  # cycles: no floor beyond

# Code for these architectures is close enough to pool: the minimum over more code is the more careful one.
POOLS = {72: 70, 87: 86, 88: 86, 89: 86, 101: 100, 103: 100, 107: 100, 110: 100, 121: 120}


def pool(arch):
    return POOLS.get(arch, arch)


def disproved(key):
    """Whether libraries that NVIDIA ships break a rule of scoreboards: a later LDG may overwrite the address of an LDG (libtorch 2.11: 286 pairs in a part of its sm_80
    code; cuSPARSE 12.6 for sm_75)."""
    return key[0] == flow.WAR and key[1] == "LDG" and key[-1] == "LDG"


class Rules:
    """The rules of one pool of architectures."""

    def __init__(self):
        self.variable = set()  # opcodes whose results ptxas guards by a scoreboard, at least sometimes
        self.decoupled = set()  # those, and the ones whose sources it guards
        self.boards = set()  # keys of pairs that always have a scoreboard or the order of a pipe to protect them
        self.floors = {}  # key of a timed pair: (fewest cycles, how often seen, how often it alone held back)
        self.spacings = {}  # key of `spacing`: (fewest cycles, how often seen, how often so close)
        self.wait_needs_two = False  # no wait stands one cycle after its scoreboard was set

    def board_key(self, block, pair):
        """The key of a pair that may need a scoreboard; None where no rule is tried."""
        producer, consumer = block[pair.producer], block[pair.consumer]
        register_file = pair.register[0]
        if flow.family(producer.base) == "matrix":
            return None  # Some chips give them a fixed latency and a scoreboard too.
        if pair.kind == flow.WAR:
            role, _ = producer.role_read(pair.register)
            # A guard is read when its instruction issues.
            if producer.base not in self.decoupled or role == "guard":
                return None
            # Some that take their time overwrite in turn: each opcode has a rule of its own.
            turn = (consumer.base,) if consumer.base in self.decoupled else ()
            return (flow.WAR, producer.base, register_file, role, *turn)
        if producer.base not in self.variable or not pair.first:
            return None
        if pair.kind == flow.WAW and consumer.base in self.variable:
            return None
        boarded = producer.write_board != control.NONE
        return (pair.kind, producer.base, register_file, "board" if boarded else "none")

    @staticmethod
    def covered(block, pair):
        """Whether a scoreboard, or the order of a pipe, protects the pair; (covered, by a board of its own)."""
        producer = block[pair.producer]
        boards = [producer.write_board] + ([producer.read_board] if pair.kind == flow.WAR else [])
        own = any(b != control.NONE and pair.waited >> b & 1 for b in boards)
        return own or pair.in_order or pair.drained, own

    def timed(self, block, pairs):
        """The reads that only a distance protects, as `{(consumer, key): a pair}`; all pairs have one producer.

        Overwriting needs a distance too, but so seldom alone that no floor for it is firm.
        """
        groups = collections.defaultdict(list)
        for pair in pairs:
            if pair.kind == flow.RAW and pair.clean and not pair.drained and pair.distance <= FAR:
                if block[pair.producer].base not in self.variable:
                    groups[pair.consumer, pair.register[0]].append(pair)
        found = {}
        for (consumer, register_file), group in groups.items():
            producer, reader = block[group[0].producer], block[consumer]
            carried = tuple(
                sorted((producer.role_written(p.register)[1], *reader.role_read(p.register)) for p in group)
            )
            found[consumer, (flow.name(producer.opcode), flow.name(reader.opcode), register_file, carried)] = group[0]
        return found

    def to_json(self):
        return {
            "variable": sorted(self.variable),
            "decoupled": sorted(self.decoupled),
            "boards": sorted(map(list, self.boards)),
            "wait_needs_two": self.wait_needs_two,
            "spacings": sorted([*key, *value] for key, value in self.spacings.items()),
            "floors": sorted([*key, *value] for key, value in self.floors.items()),
        }

    @classmethod
    def from_json(cls, data):
        rules = cls()
        rules.variable, rules.decoupled = set(data["variable"]), set(data["decoupled"])
        rules.boards = {tuple(key) for key in data["boards"]}
        rules.wait_needs_two = data["wait_needs_two"]
        rules.spacings = {tuple(row[:4]): tuple(row[4:]) for row in data["spacings"]}
        for producer, consumer, register_file, carried, *value in data["floors"]:
            rules.floors[producer, consumer, register_file, tuple(map(tuple, carried))] = tuple(value)
        return rules


def store(path, pools):
    """Writes `{pool: rules}`, a row a line."""
    blocks = []
    for arch, rules in sorted(pools.items()):
        fields = []
        for name, value in rules.to_json().items():
            if name in ("boards", "spacings", "floors"):
                rows = ",\n   ".join(json.dumps(row) for row in value)
                fields.append(f"  {json.dumps(name)}: [\n   {rows}]")
            else:
                fields.append(f"  {json.dumps(name)}: {json.dumps(value)}")
        blocks.append(f' "{arch}": {{\n' + ",\n".join(fields) + "}")
    path.write_text("{\n" + ",\n".join(blocks) + "}\n")


def load(path):
    return {int(arch): Rules.from_json(data) for arch, data in json.loads(path.read_text()).items()}

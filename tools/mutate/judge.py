"""Says which hazards a stretch of code certainly has, from the learnt rules alone. Silence is no proof of safety."""

from dataclasses import asdict, dataclass

import control
import flow
import spacing

BOARD, DISTANCE, SET_TO_WAIT = "scoreboard", "distance", "set-to-wait"


@dataclass(frozen=True)
class Hazard:
    rule: str
    kind: str
    register: str
    producer: int  # offset
    consumer: int
    given: int | None
    needed: int | None
    reason: str
    key: tuple = ()  # the rule broken

    def record(self):
        record = asdict(self)
        del record["key"]
        return record


def hazards(rules, block, producers=None, reach=None):
    """Certain hazards whose producers have these indices; all of the block where none are named.

    With `reach`, only those of pairs up to so many cycles apart.
    """
    found = []
    for i in range(len(block)) if producers is None else producers:
        pairs = list(flow.pairs(block, i, reach))
        for pair in pairs:
            if hazard := _board(rules, block, pair):
                found.append(hazard)
        for (_, key), pair in rules.timed(block, pairs).items():
            if key in rules.floors and pair.distance < rules.floors[key][0]:
                found.append(_distance(block, pair, key, rules.floors[key]))
        found += [_spacing(rules, block, i, *pair) for pair in spacing.broken(rules, block, i)]
    return found


def _hazard(block, pair, rule, given, needed, reason, key):
    producer, consumer = block[pair.producer], block[pair.consumer]
    return Hazard(rule, pair.kind, _name(pair), producer.offset, consumer.offset, given, needed, reason, key)


def _name(pair):
    return f"{pair.register[0]}{pair.register[1]}"


def _board(rules, block, pair):
    key = rules.board_key(block, pair)
    if key is None or key not in rules.boards:
        return None
    producer, consumer = block[pair.producer], block[pair.consumer]
    covered, own = rules.covered(block, pair)
    if not covered:
        verb = {flow.RAW: "reads", flow.WAW: "overwrites", flow.WAR: "overwrites source"}[pair.kind]
        reason = f"{consumer.base} {verb} {_name(pair)} of {producer.base}, no wait covers it"
        return _hazard(block, pair, BOARD, None, None, reason, key)
    next_to = pair.consumer == pair.producer + 1 and producer.stall == 1
    if own and next_to and not pair.drained and rules.wait_needs_two:
        reason = f"{consumer.base} waits one cycle after {producer.base} set the board of {_name(pair)}"
        return _hazard(block, pair, SET_TO_WAIT, 1, 2, reason, key)
    return None


def _distance(block, pair, key, floor):
    producer, consumer, register_file, carried = key
    fewest, seen, alone = floor
    how = " ".join(f"{made}>{role}+{position}" for made, role, position in carried)
    reason = (
        f"{producer} to {consumer} ({register_file} {how}): {pair.distance} cycles, ptxas never under {fewest} "
        f"({seen} seen, {alone} held back by nothing else)"
    )
    return _hazard(block, pair, DISTANCE, pair.distance, fewest, reason, key)


_KINDS = {spacing.OVERWRITTEN: flow.WAR, spacing.ADDEND: flow.RAW}


def _spacing(rules, block, i, key, register, j, distance):
    rule, first, second, _ = key
    fewest, seen, hit = rules.spacings[key]
    reason = f"{rule}: {first} to {second}: {distance} cycles, never under {fewest} ({seen} seen, {hit} at ptxas's fewest)"
    name = f"{register[0]}{register[1]}" if register else ""
    kind = _KINDS.get(rule, rule)
    return Hazard(rule, kind, name, block[i].offset, block[j].offset, distance, fewest, reason, key)

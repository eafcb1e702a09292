"""Which instructions of a block depend on which, and what the code does between them."""

import functools
import re
from dataclasses import dataclass

import control

LOOKAHEAD = 64  # instructions
RAW, WAW, WAR = "RAW", "WAW", "WAR"

# Results return in order inside a pipe, so a wait for a later instruction of a pipe covers an earlier one. These
# families are wider than any pipe: what they merge too much is only judged less often.
_FAMILIES = {
    "memory": "LD LDG LDS LDL LDSM LDGSTS LDGDEPBAR LDTM ST STS STG STL STSM STTM STAS ATOM ATOMS ATOMG RED REDG REDAS SHFL"
    " MATCH SULD SUST SUATOM SURED TEX TLD TLD4 TMML TXD TXQ QSPC CCTL CCTLL MEMBAR FENCE ERRBAR ARRIVES SYNCS"
    " UBLKCP UBLKRED UBLKPF UTMALDG UTMASTG UTMAREDG UTMAPF BAR AL2P ISBERD LEPC",
    "special": "MUFU F2F F2I I2F I2I FRND POPC FLO BREV UPOPC UFLO UBREV UF2I UI2F",
    "constant": "LDC LDCU ULDC",
    "system": "S2R S2UR CS2R CS2UR B2R R2B R2UR REDUX CREDUX VOTEU UVOTE GETLMEMBASE SETLMEMBASE BMOV",
    "double": "DADD DFMA DMUL DSETP DMMA DMNMX CLMAD",
    "matrix": "HMMA IMMA BMMA QMMA OMMA",
}
FAMILY = {opcode: name for name, opcodes in _FAMILIES.items() for opcode in opcodes.split()}

# Ordered by mechanisms of their own: no certain statement about their registers is tried.
ASYNCHRONOUS = re.compile(r"[HIQBO]GMMA|WARPGROUP|UTC|LDGSTS|UBLK|UTMA|SYNCS|ARRIVES|LDTM|STTM|USETMAXREG|ELECT")
# Take time that no stall count shows.
SLOW = frozenset("BAR NANOSLEEP WARPSYNC YIELD DEPBAR MEMBAR ERRBAR CCTL CCTLL FENCE BSYNC CALL PREEXIT LDGDEPBAR".split())
_MATTERS = frozenset("WIDE HI MMA".split())


def family(base):
    return FAMILY.get(base, "other")


@functools.cache
def _traits(opcode):
    """(family, takes time unseen) of an opcode with its modifiers."""
    base = opcode.split(".", 1)[0]
    return family(base), base in SLOW


@functools.cache
def name(opcode):
    """The opcode with those modifiers that change its pipe."""
    base, *modifiers = opcode.split(".")
    if family(base) == "matrix":
        return opcode
    return ".".join([base] + [m for m in modifiers if m in _MATTERS])


def asynchronous(instruction):
    return ASYNCHRONOUS.match(instruction.base) is not None


@dataclass(slots=True)
class Pair:
    """Two instructions that touch the same register, and what lies between."""

    kind: str
    register: tuple
    producer: int
    consumer: int
    first: bool  # nothing in between touches the register (WAR: overwrites it)
    waited: int  # boards waited for after the producer, up to and with the consumer
    in_order: bool  # one of those was set by a later instruction of the producer's family
    drained: bool  # an instruction between waits for everything
    distance: int  # sum of stalls
    clean: bool  # no wait and nothing slow between: the distance is all the time that passes


def guards_meet(producer, consumer, between_writes):
    """Whether both instructions certainly count when the guards hold: no complementary or unrelated guards."""
    if producer.guard is None or consumer.guard is None:
        return True
    if producer.guard != consumer.guard:
        return False
    text = producer.guard.lstrip("!")
    guard = (text[:-1], int(text[-1])) if text[-1].isdigit() else None
    return guard not in between_writes and guard not in producer.writes


def pairs(block, i, reach=None):
    """The pairs in which `block[i]` comes first, as far as the block is straight-line and understood.

    With `reach`, only those up to so many cycles apart.
    """
    producer = block[i]
    if not producer.trusted or asynchronous(producer):
        return
    own, _ = _traits(producer.opcode)
    written, sources = set(producer.writes), set(producer.reads - producer.writes)
    untouched = set(written)
    waited, in_order, clean, drained = 0, False, True, producer.stall == 0
    distance, family_boards, between = producer.stall, 0, set()
    for j in range(i + 1, min(len(block), i + 1 + LOOKAHEAD)):
        consumer = block[j]
        if not consumer.trusted:
            return
        waited |= consumer.waits
        in_order |= bool(consumer.waits & family_boards)
        clean &= consumer.waits == 0
        reads, writes = consumer.reads, consumer.writes
        if not (written.isdisjoint(reads) and written.isdisjoint(writes) and sources.isdisjoint(writes)):
            met, overwritten = written & (reads | writes), sources & writes
            if not asynchronous(consumer) and guards_meet(producer, consumer, between):
                for register in sorted(met):
                    kind = RAW if register in reads else WAW
                    yield Pair(kind, register, i, j, register in untouched, waited, in_order, drained, distance, clean)
                for register in sorted(overwritten):
                    yield Pair(WAR, register, i, j, True, waited, in_order, drained, distance, clean)
            untouched -= met
            written -= writes
            sources -= overwritten
        if not written and not sources:
            return
        consumer_family, slow = _traits(consumer.opcode)
        if own == consumer_family:
            for board in (consumer.write_board, consumer.read_board):
                if board != control.NONE:
                    family_boards |= 1 << board
        between |= writes
        drained |= consumer.stall == 0
        clean &= not slow
        distance += consumer.stall
        if reach is not None and distance > reach:
            return

"""The control fields of a 128-bit instruction word (sm_70 and later), read and replaced as raw bits."""

STALL, YIELD, WRITE, READ, WAIT, REUSE = (105, 4), (109, 1), (110, 3), (113, 3), (116, 6), (122, 4)
ALL = (105, 21)
NONE = 7  # no scoreboard
BOARDS = range(6)


def get(word, field):
    low, width = field
    return word >> low & ((1 << width) - 1)


def put(word, field, value):
    low, width = field
    mask = (1 << width) - 1
    if value & ~mask:
        raise ValueError(f"{value} does not fit {width} bits")
    return word & ~(mask << low) | value << low

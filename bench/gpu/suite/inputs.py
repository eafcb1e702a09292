"""How inputs are made: counter-based, so that any machine makes the same ones. The twin of support.cu for the CPU.

The generators and their parameters:

    bits                                      random bits (integers only)
    uniform   low, high                       in between
    normal    mean = 0, scale = 1             a bell of limited width (four uniforms added)
    sparse    zeros, scale = 1                zero with that probability, or else the bell
    wide      low = -10, high = 10            random sign, exponents of two in between; a sixteenth is zero
    integers  low, high                       low <= x < high
    starts    average                         CSR row starts: rows of 0 to 2 * average entries
    constant  value
"""

from __future__ import annotations

import hashlib

import numpy

TYPES = {"f2": 0, "f4": 1, "f8": 2, "i1": 3, "u1": 4, "i4": 5, "u4": 6}
KINDS = {"bits": 0, "uniform": 1, "normal": 2, "sparse": 3, "wide": 4, "integers": 5, "starts": 6, "constant": 7}
BELL = 37837.2272  # the standard deviation of four 16-bit uniforms added up
STEP = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def seed(*parts: object) -> int:
    """A seed that follows from names and numbers alone; 48 bits, so that every JSON reader keeps it."""
    return int.from_bytes(hashlib.sha256(":".join(map(str, parts)).encode()).digest()[:6], "little")


def coefficients(kind: str, parameters: dict[str, float]) -> tuple[float, float]:
    """The two numbers that the generator on the GPU takes."""
    get = parameters.get
    forms = {
        "bits": lambda: (0, 0),
        "uniform": lambda: (parameters["low"], parameters["high"] - parameters["low"]),
        "normal": lambda: (get("mean", 0), get("scale", 1) / BELL),
        "sparse": lambda: (parameters["zeros"], get("scale", 1) / BELL),
        "wide": lambda: (get("low", -10), get("high", 10) - get("low", -10) + 1),
        "integers": lambda: (parameters["low"], parameters["high"] - parameters["low"]),
        "starts": lambda: (parameters["average"], 0),
        "constant": lambda: (parameters["value"], 0),
    }
    a, b = forms[kind]()
    return float(a), float(b)


def mix(x: numpy.ndarray) -> numpy.ndarray:
    x = (x ^ x >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
    return x ^ x >> numpy.uint64(31)


def generate(element: str, count: int, kind: str, start: int, a: float, b: float) -> numpy.ndarray:
    """What `fill` of support.cu writes, bit for bit."""
    place = numpy.arange(count, dtype=numpy.uint64)
    h = mix(numpy.uint64(start & MASK) + (place + numpy.uint64(1)) * numpy.uint64(STEP))
    if kind == "bits":
        return h.astype(f"u{numpy.dtype(element).itemsize}").view(element)
    other = mix(h)
    share = (h >> numpy.uint64(32)).astype("f8") * 2.0**-32
    fields = sum((h >> numpy.uint64(16 * i) & numpy.uint64(65535)).astype("i8") for i in range(4))
    bell = fields.astype("f8") - 131070.0
    if kind == "uniform":
        x = a + b * share
    elif kind == "normal":
        x = a + b * bell
    elif kind == "sparse":
        x = numpy.where((other >> numpy.uint64(32)).astype("f8") * 2.0**-32 < a, 0.0, b * bell)
    elif kind == "wide":
        fraction = 1.0 + (other & numpy.uint64(0xFFFFF)).astype("f8") * 2.0**-20
        size = numpy.ldexp(fraction, (a + numpy.floor(b * share)).astype("i4"))
        x = numpy.where(other >> numpy.uint64(59) & numpy.uint64(1), -size, size)
        x = numpy.where(other >> numpy.uint64(60) == 0, 0.0, x)
    elif kind == "integers":
        x = a + numpy.floor(b * share)
    elif kind == "starts":
        choice = other & numpy.uint64(3)
        jitter = numpy.where(choice == 0, 0.0, numpy.where(choice == 1, a, numpy.floor((a + 1.0) * share)))
        x = place.astype("f8") * a + jitter
    elif kind == "constant":
        x = numpy.full(count, a)
    else:
        raise ValueError(f"no generator {kind!r}")
    return x.astype("i8").astype(element) if element[0] in "iu" else x.astype(element)

"""One launch of the suite on the GPU: its buffers, its inputs, the outputs of the original."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driver import SCALARS, Call, Driver, Stopwatch
from manifest import Argument, InputSet, Launch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "suite"))
import inputs  # noqa: E402

POISON = 0xCD  # what outputs hold before they are written
GUARD = 4096  # bytes behind every output that must stay poisoned
PREFIX = 1 << 16  # elements of an output that are looked at
U64 = ctypes.c_uint64


@dataclass
class Buffer:
    place: int
    argument: Argument
    pointer: U64
    size: int


class Support:
    """The harness's own kernels."""

    GRID, BLOCK = (1056, 1, 1), (256, 1, 1)

    def __init__(self, driver: Driver, cubin: bytes) -> None:
        self.driver, self.module = driver, driver.load(cubin)
        self.fill_function, self.differ_function = map(self.module.function, ("fill", "differ"))

    def fill(self, pointer: U64, argument: Argument) -> None:
        kind, type_ = inputs.KINDS[argument.fill["kind"]], inputs.TYPES[argument.type]
        numbers = U64(argument.count), ctypes.c_int(type_), ctypes.c_int(kind), U64(argument.seed)
        a, b = ctypes.c_double(argument.fill["a"]), ctypes.c_double(argument.fill["b"])
        Call(self.driver, self.GRID, self.BLOCK, 0, (pointer, *numbers, a, b))(self.fill_function)

    def differ(self, a: U64, b: U64, size: int, counts: U64) -> None:
        """Adds the number of differing words to the first of `counts`, the least place to the second."""
        Call(self.driver, self.GRID, self.BLOCK, 0, (a, b, U64(size // 4), counts))(self.differ_function)


class Session:
    """Buffers of one input set."""

    def __init__(self, driver: Driver, support: Support, chosen: InputSet) -> None:
        self.driver, self.support, self.chosen = driver, support, chosen
        self.buffers: list[Buffer] = []
        self.reference: dict[int, U64] = {}
        values: list[Any] = []
        for place, argument in enumerate(chosen.arguments):
            if argument.role == "scalar":
                values.append(SCALARS[argument.type](argument.value))
                continue
            size = -(-argument.size // 256) * 256 + (GUARD if argument.written else 0)
            self.buffers.append(Buffer(place, argument, driver.allocate(size), size))
            values.append(self.buffers[-1].pointer)
        self.call = Call(driver, chosen.grid, chosen.block, chosen.shared, values)
        self.written = [b for b in self.buffers if b.argument.written]
        self.counts = driver.allocate(16 * len(self.written))

    def prepare(self) -> None:
        """Inputs made anew, also those that a wild store may have hit; outputs poisoned."""
        for buffer in self.buffers:
            if buffer.argument.written:
                self.driver.set_bytes(buffer.pointer, POISON, buffer.size)
            if buffer.argument.fill:
                self.support.fill(buffer.pointer, buffer.argument)

    def reset(self) -> None:
        """What is both read and written, as it was: outside the timed part."""
        for buffer in self.buffers:
            if buffer.argument.role == "inout":
                self.support.fill(buffer.pointer, buffer.argument)

    def run(self, function: ctypes.c_void_p) -> None:
        self.prepare()
        self.call(function)
        self.driver.synchronize()

    def keep(self) -> None:
        """Takes the present outputs as those to compare with."""
        for buffer in self.written:
            self.reference[buffer.place] = self.driver.allocate(buffer.size)
            self.driver.copy(self.reference[buffer.place], buffer.pointer, buffer.size)
        self.driver.synchronize()

    def clear_counts(self, counts: U64) -> None:
        for number in range(len(self.written)):
            self.driver.set_bytes(U64(counts.value + 16 * number), 0, 8)
            self.driver.set_bytes(U64(counts.value + 16 * number + 8), 0xFF, 8)

    def count(self, counts: U64) -> None:
        """Queues a comparison of all outputs; does not wait."""
        for number, buffer in enumerate(self.written):
            at = U64(counts.value + 16 * number)
            self.support.differ(buffer.pointer, self.reference[buffer.place], buffer.size, at)

    def read_counts(self, counts: U64) -> list[dict[str, int]]:
        data = self.driver.download(counts, 16 * len(self.written))
        found = []
        for number, buffer in enumerate(self.written):
            words, first = (int.from_bytes(data[i : i + 8], "little") for i in (16 * number, 16 * number + 8))
            if words:
                found.append({"argument": buffer.place, "words": words, "first": first, "of": buffer.size // 4})
        return found

    def differences(self) -> list[dict[str, int]]:
        """Which outputs differ from those kept, and where first; words of four bytes."""
        self.clear_counts(self.counts)
        self.count(self.counts)
        return self.read_counts(self.counts)

    def census(self) -> list[dict[str, float]]:
        """What the beginning of every output holds: outputs that are all alike would prove little."""
        import numpy

        found = []
        for buffer in self.written:
            count = min(buffer.argument.count, PREFIX)
            size = count * (buffer.argument.size // buffer.argument.count)
            raw = numpy.frombuffer(self.driver.download(buffer.pointer, size), buffer.argument.type)
            poisoned = (raw.view("u1").reshape(count, -1) == POISON).all(1)
            nan = numpy.isnan(raw) if buffer.argument.type[0] == "f" else numpy.zeros(count, bool)
            found.append({
                "argument": buffer.place, "elements": count, "unwritten": int(poisoned.sum()), "nan": int(nan.sum()),
                "zero": int((raw == 0).sum()), "distinct": len(numpy.unique(raw[~nan])),
            })  # fmt: skip
        return found

    def inputs_differ(self, limit: int = 1 << 20) -> list[int]:
        """Arguments whose contents, made on the GPU, are not what the CPU makes; large ones are left out."""
        import numpy

        self.prepare()
        wrong = []
        for buffer in self.buffers:
            argument = buffer.argument
            if argument.fill is None or argument.count > limit:
                continue
            expected = inputs.generate(
                argument.type, argument.count, argument.fill["kind"], argument.seed, argument.fill["a"], argument.fill["b"]
            )
            if self.driver.download(buffer.pointer, argument.size) != expected.tobytes():
                wrong.append(buffer.place)
        return wrong

    def close(self) -> None:
        for pointer in [*(b.pointer for b in self.buffers), *self.reference.values(), self.counts]:
            self.driver.free(pointer)


def sample(session: Session, watch: Stopwatch, function: ctypes.c_void_p, launches: int) -> float:
    """Microseconds per launch, of several in a row behind one that is not counted."""
    session.reset()
    session.call(function)
    watch.begin()
    for _ in range(launches):
        session.call(function)
    watch.end()
    return watch.microseconds() / launches


def load_functions(driver: Driver, launch: Launch, cubins: dict[str, Path]) -> dict[str, ctypes.c_void_p]:
    """The entry of every cubin, ready for the largest input set."""
    shared = max(s.shared for s in launch.sets)
    return {name: driver.load(path.read_bytes()).function(launch.entry, shared) for name, path in cubins.items()}

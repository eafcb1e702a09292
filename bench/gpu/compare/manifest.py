"""What build.py of the suite wrote, read and checked."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROLES = {"in", "out", "inout", "scalar"}


class ManifestError(Exception):
    """The manifest, or a file it names, is not as it should be."""


@dataclass(frozen=True)
class Argument:
    """A buffer, or a scalar (then `value` holds)."""

    role: str
    type: str
    count: int = 0
    value: float = 0
    fill: dict[str, Any] | None = None
    seed: int = 0

    @property
    def size(self) -> int:
        """Bytes of the buffer."""
        return self.count * int(self.type[1:])

    @property
    def written(self) -> bool:
        return self.role in ("out", "inout")


@dataclass(frozen=True)
class InputSet:
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Launch:
    name: str
    kernel: str
    cubin: str
    entry: str
    sha256: str
    launches: int
    sets: tuple[InputSet, ...]


@dataclass(frozen=True)
class Manifest:
    path: Path
    support: str
    launches: dict[str, Launch]

    def select(self, names: list[str] | None) -> list[Launch]:
        """Launches by their own or their kernel's name, in the manifest's order; all of them where none is named."""
        if names is None:
            return list(self.launches.values())
        known = self.launches.keys() | {launch.kernel for launch in self.launches.values()}
        if unknown := [name for name in names if name not in known]:
            raise ManifestError(f"no kernel {', '.join(unknown)}; there are {', '.join(sorted(known))}")
        return [launch for launch in self.launches.values() if launch.name in names or launch.kernel in names]


def argument(entry: dict[str, Any], where: str) -> Argument:
    try:
        found = Argument(**entry)
    except TypeError as error:
        raise ManifestError(f"{where}: {error}") from None
    if found.role not in ROLES:
        raise ManifestError(f"{where}: role {found.role!r}")
    if found.role != "scalar" and found.count <= 0:
        raise ManifestError(f"{where}: {found.count} elements")
    if (found.fill is not None) != (found.role in ("in", "inout")):
        raise ManifestError(f"{where}: inputs are filled, outputs are not")
    return found


def input_set(entry: dict[str, Any], where: str) -> InputSet:
    arguments = tuple(argument(a, f"{where}, argument {i}") for i, a in enumerate(entry["arguments"]))
    if not any(a.written for a in arguments):
        raise ManifestError(f"{where}: nothing is written")
    return InputSet(tuple(entry["grid"]), tuple(entry["block"]), entry["shared"], arguments)


def parse(data: dict[str, Any], path: Path) -> Manifest:
    if data.get("format") != 1:
        raise ManifestError(f"{path}: format {data.get('format')!r}, where 1 is known")
    try:
        launches = {}
        for name, entry in data["launches"].items():
            kernel = data["kernels"][entry["kernel"]]
            sets = tuple(input_set(s, f"{path}: {name}, set {i}") for i, s in enumerate(entry["sets"]))
            launches[name] = Launch(
                name, entry["kernel"], kernel["cubin"], kernel["entry"], kernel["cubin_sha256"], entry["launches"], sets
            )
        return Manifest(path, data["support"]["cubin"], launches)
    except KeyError as error:
        raise ManifestError(f"{path}: no {error}") from None


def load(path: Path) -> Manifest:
    try:
        return parse(json.loads(path.read_text()), path)
    except (OSError, ValueError) as error:
        raise ManifestError(f"{path}: {error}") from None


def check_original(launch: Launch, folder: Path) -> None:
    """The original must be the very code that the manifest describes."""
    path = folder / launch.cubin
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ManifestError(f"{path}: {error}") from None
    if found != launch.sha256:
        raise ManifestError(f"{path}: not the cubin that the manifest was written for")

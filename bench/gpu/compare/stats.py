"""What is made of the samples: ratios of neighbours in time, not of averages, so that a drift of the clock cancels out."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import median
from typing import Iterable, Sequence


@dataclass(frozen=True)
class Spread:
    """The middle, and the 5th and 95th percentile."""

    median: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def percentile(values: Sequence[float], share: float) -> float:
    """Linear between the neighbours in rank."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def spread(values: Sequence[float]) -> Spread:
    return Spread(median(values), percentile(values, 0.05), percentile(values, 0.95))


def ratios(samples: Sequence[float], reference: Sequence[float]) -> list[float]:
    """Of samples of the same round."""
    if len(samples) != len(reference):
        raise ValueError(f"{len(samples)} samples for {len(reference)} rounds")
    return [a / b for a, b in zip(samples, reference)]


def geomean(values: Iterable[float]) -> float:
    logarithms = [math.log(value) for value in values]
    if not logarithms:
        raise ValueError("no values")
    return math.exp(sum(logarithms) / len(logarithms))


def rotated(names: Sequence[str], number: int) -> list[str]:
    """The order of a round: everyone is first, second, ... equally often."""
    start = number % len(names)
    return [*names[start:], *names[:start]]

"""Ratios: both sides in turns within one run, the median of the rounds, and what it must not exceed.

Absolute times move with the machine; a ratio taken inside a round does not move much.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

ROUNDS = 7
_WARM_UP = 3


@dataclass(frozen=True)
class Promise:
    """A measured ratio and what it must not exceed."""

    name: str
    ratios: list[float]
    limit: float

    @property
    def is_kept(self) -> bool:
        """Whether the median keeps the promise."""
        return median(self.ratios) <= self.limit

    def __str__(self) -> str:
        low, high = min(self.ratios), max(self.ratios)
        word = "kept" if self.is_kept else "BROKEN"
        spread = f"({low:.2f} to {high:.2f})"
        return f"{self.name:58} {median(self.ratios):6.2f}  {spread:16}  at most {self.limit:<5} {word}"


def compare(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    times: int,
    rounds: int = ROUNDS,
) -> list[float]:
    """The ratio of the median times in each round; a round makes ``times`` calls of each, in a shuffled order."""
    for _ in range(min(_WARM_UP, times)):
        ours()
        theirs()
    ratios = []
    for _ in range(rounds):
        spent: dict[Callable[[], object], list[float]] = {ours: [], theirs: []}
        for _ in range(times):
            pair = [ours, theirs]
            random.shuffle(pair)
            for act in pair:
                spent[act].append(elapsed(act))
        ratios.append(median(spent[ours]) / median(spent[theirs]))
    return ratios


def elapsed(act: Callable[[], object]) -> float:
    """The seconds that a call takes."""
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun

"""Saber: the longer a text goes well, the bolder; what has lost confidence is written anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .card import Card, Remasking, Selection
from .plain import moved, ranked

if TYPE_CHECKING:
    from ..canvas import Canvas
    from ..observation import Observation
    from ..settings import DecodeSettings

NOISE = 1e-4  # rounding is no fall: it differs from device to device, and a slot whose context stayed the same must not be taken back


def saber(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> np.ndarray:
    """Masks more probable than the mean of all tokens when they were written; at least saber_least of them."""
    chosen = seen.probabilities > seen.bars
    chosen[ranked(seen.probabilities)[: settings.saber_least]] = True
    return moved(canvas, slots, seen, chosen)


def fallen(slots: np.ndarray, seen: Observation, filled: int, surplus: int, settings: DecodeSettings) -> np.ndarray:
    """The written slots whose token has lost most of its probability since it was read last.

    As many as max(saber_least / 2, an eighth of those just filled), never all of them.
    """
    count = min(max(settings.saber_least // 2, -(-filled // 8)), filled - 1)
    order = np.argsort(-seen.falls, kind="stable")[: max(count, 0)]
    return slots[order[seen.falls[order] > NOISE]]


class Course:
    """The probabilities of written tokens: when they were written, for the mean, and when they were read last, by slot."""

    def __init__(self) -> None:
        self.total, self.count, self.last = 0.0, 0, {}

    def tell(self, slots: np.ndarray, seen: Observation) -> Observation:
        """The winner's observation with the bar that Saber's threshold is; 1 before anything is written."""
        return seen._replace(bars=np.full(len(slots), self.total / self.count if self.count else 1.0))

    def reread(self, slots: np.ndarray, seen: Observation) -> Observation:
        """What is said of written slots, with how much it has fallen."""
        claims = seen.claims.astype(float).tolist()
        falls = [self.last.get(slot, now) - now for slot, now in zip(slots.tolist(), claims)]
        self.last |= dict(zip(slots.tolist(), claims))
        return seen._replace(falls=np.array(falls))

    def wrote(self, slots: np.ndarray, probabilities: np.ndarray) -> None:
        self.total += float(probabilities.sum(dtype=np.float64))
        self.count += len(slots)
        self.last |= dict(zip(slots.tolist(), probabilities.astype(float).tolist()))


SELECTION = Selection(
    card=Card(
        name="saber", kind="selection", title="Saber's threshold", source="arXiv 2510.18165",
        formula="p > mean p at writing of all tokens so far, at least saber_least", defaults="saber_least 2",
    ),
    pick=saber, course=True,
)  # fmt: skip
REMASKING = Remasking(
    card=Card(
        name="saber", kind="re-masking", title="Saber", source="arXiv 2510.18165",
        formula="the max(floor(n / 2), ceil(K / 8)) written tokens whose probability fell most become masks again, "
        "fewer than the K just written",
        defaults="n = saber_least 2", inferred="only what did fall, and only in active blocks",
    ),
    doubted=fallen, blind=False, course=True,
)  # fmt: skip

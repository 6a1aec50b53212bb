"""KLASS: fill what is confident and has stopped changing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .card import Card, Selection
from .plain import moved

if TYPE_CHECKING:
    from ..canvas import Canvas
    from ..observation import Observation
    from ..settings import DecodeSettings


def klass(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> np.ndarray:
    """Masks with p > klass_tau whose distribution moved by less than klass_kl in each of the last klass_steps rounds."""
    return moved(canvas, slots, seen, (seen.steady >= settings.klass_steps) & (seen.probabilities > settings.klass_tau))


class Steady:
    """For how many rounds in a row each slot's distribution has hardly moved along the winners' path.

    KL(p now || p a round before) comes with the records. A slot that is seen for the first time has moved.
    """

    def __init__(self, length: int, settings: DecodeSettings) -> None:
        self.counts, self.settings = np.zeros(length, dtype=np.int64), settings

    def tell(self, slots: np.ndarray, seen: Observation) -> Observation:
        """The winner's observation with the count up to this round in it."""
        counts = np.where(seen.divergences < self.settings.klass_kl, self.counts[slots] + 1, 0)
        self.counts[:] = 0
        self.counts[slots] = counts
        return seen._replace(steady=counts)


RULE = Selection(
    card=Card(
        name="klass", kind="selection", title="KLASS", source="arXiv 2511.05664",
        formula="p > klass_tau and KL(p_t || p_t-1) < klass_kl in each of the last klass_steps rounds",
        defaults="klass_tau 0.6 to 0.9, klass_kl 0.001 to 0.015, klass_steps 2",
        inferred="along LoPA's branches the round before is the winner's; without a ready mask one is filled per block",
    ),
    pick=klass, columns=("divergences",),
)  # fmt: skip

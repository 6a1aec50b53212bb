"""LEAP: tokens that are right already, though not yet sure, found by looking at a possible future."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .card import Card, Selection
from .plain import moved

if TYPE_CHECKING:
    from ..canvas import Canvas
    from ..observation import Observation
    from ..settings import DecodeSettings

LINKS = ("star", "clique")


def leap(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> np.ndarray:
    """Masks with p > tau_conf, and those with p >= leap_tau for which the prediction from the future is the same token.

    The future: what this forward says of a slot when the other candidates are written (superposed.py); candidates are
    masks whose prediction a round before had p >= leap_eta. A slot that has no future to be compared with is none.
    """
    converged = (seen.future_tokens == seen.tokens) & (seen.probabilities >= settings.leap_tau)
    return moved(canvas, slots, seen, converged | (seen.probabilities > settings.tau_conf))


class Before:
    """The winner's predictions of the round before, by slot."""

    def __init__(self) -> None:
        self.slots, self.tokens, self.probabilities = np.zeros((3, 0))

    def tell(self, slots: np.ndarray, seen: Observation) -> Observation:
        self.slots, self.tokens, self.probabilities = slots, seen.tokens, seen.probabilities
        return seen

    def likely(self, eta: float) -> dict[int, int]:
        """{slot: token} of future-context filtering: p >= eta."""
        kept = self.probabilities >= eta
        return dict(zip(self.slots[kept].tolist(), self.tokens[kept].tolist()))


RULE = Selection(
    card=Card(
        name="leap", kind="selection", title="LEAP", source="arXiv 2605.10980",
        formula="p > tau_conf; or p >= leap_tau and the same prediction with the other likely tokens written (p >= leap_eta before)",
        defaults="leap_eta 0.2, leap_tau 0.7, tau_conf 0.9",
        tokens="2 per candidate (3 where the model is shifted), seen by no other token",
        inferred="the paper's are the idea, the filter, the superposition in one forward, eta and tau; its text and code could not be "
        "had. Ours are who sees whom (star; clique is an option), that tau tests the base prediction, that a judge who sees no "
        "candidate does not count, the query copies of shifted models, and LEAP over a cached prefix and inside LoPA's branches",
    ),
    pick=leap, futures=True, greedy=True,
)  # fmt: skip

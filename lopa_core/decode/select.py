"""Which masks are filled: small rules on the observation of one branch.

A rule looks at the masked slots of the active blocks and returns the indices to fill. Adding one is a function
here, a name in settings.SELECTIONS and a line in RULES.
"""

from __future__ import annotations

import numpy as np

from .canvas import Canvas
from .observation import Observation


def threshold(canvas: Canvas, slots: np.ndarray, seen: Observation, tau_conf: float) -> np.ndarray:
    """All masks with probability > tau_conf (LoPA Eq. 1; strictly). A fully active block without any fills its
    single most confident one, so decoding always moves; half-active blocks wait."""
    chosen = seen.probabilities > tau_conf
    block = canvas.block_of(slots)
    for index in np.unique(block):
        inside = block == index
        if canvas.fully_active[index] and not chosen[inside].any():
            chosen[best(inside, seen)] = True
    return np.flatnonzero(chosen)


def one(canvas: Canvas, slots: np.ndarray, seen: Observation, tau_conf: float) -> np.ndarray:
    """The single most confident mask of the first block that has any: one token per forward pass."""
    block = canvas.block_of(slots)
    return np.array([best(block == block[0], seen)])


def best(inside: np.ndarray, seen: Observation) -> int:
    """Index of the most confident slot among `inside` [n] bool; ties go to the earlier slot."""
    return int(np.where(inside, seen.confidences, -np.inf).argmax())


RULES = {"threshold": threshold, "one": one}

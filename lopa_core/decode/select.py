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
    bounds = [0, *(np.flatnonzero(block[1:] != block[:-1]) + 1).tolist(), len(block)]
    for low, high in zip(bounds, bounds[1:]):
        if canvas.fully_active[block[low]] and not chosen[low:high].any():
            chosen[low + best(seen.confidences[low:high])] = True
    return np.flatnonzero(chosen)


def one(canvas: Canvas, slots: np.ndarray, seen: Observation, tau_conf: float) -> np.ndarray:
    """The single most confident mask of the first block that has any: one token per forward pass."""
    block = canvas.block_of(slots)
    return np.array([best(seen.confidences[block == block[0]])])


def best(confidences: np.ndarray) -> int:
    """Index of the highest confidence; ties go to the earlier slot."""
    return int(confidences.argmax())


RULES = {"threshold": threshold, "one": one}

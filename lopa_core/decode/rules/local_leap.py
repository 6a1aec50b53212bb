"""LocalLeap: near a mask that is sure, a lower threshold will do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .card import Card, Selection
from .plain import moved

if TYPE_CHECKING:
    from ..canvas import Canvas
    from ..observation import Observation
    from ..settings import DecodeSettings


def local_leap(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> np.ndarray:
    """Masks with p > tau_conf are anchors and are filled; within local_radius slots of one, p > local_tau is enough."""
    anchors = seen.probabilities > settings.tau_conf
    near = (np.abs(slots[:, None] - slots[anchors]) <= settings.local_radius).any(axis=1)
    return moved(canvas, slots, seen, anchors | (near & (seen.probabilities > settings.local_tau)))


RULE = Selection(
    card=Card(
        name="local_leap", kind="selection", title="LocalLeap", source="arXiv 2510.07081",
        formula="p > tau_conf, or p > local_tau within local_radius slots of a mask with p > tau_conf",
        defaults="tau_conf 0.9, local_tau 0.75, local_radius 4",
        inferred="both thresholds are strict, as in Eq. 1 of LoPA; a neighbour may lie in the next active block",
    ),
    pick=local_leap,
)  # fmt: skip

"""EB-Sampler: fill masks together as long as their joint uncertainty stays within a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .card import Card, Selection
from .factor import leading
from .plain import blocks, moved, ranked

if TYPE_CHECKING:
    from ..canvas import Canvas
    from ..observation import Observation
    from ..settings import DecodeSettings


def entropy_bound(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> np.ndarray:
    """Per block the longest run U of the most confident masks with sum H - max H <= entropy_bound, in nats.

    The least certain member of U is free (EB-Sampler, arXiv 2505.24857, as restated in arXiv 2609.36452, A.5.1), so one
    mask is always affordable; in a half-active block, which may wait, no member is free.
    """
    chosen = np.zeros(len(slots), dtype=bool)
    for low, high, active in blocks(canvas, slots):
        order = ranked(seen.confidences[low:high])
        entropies = seen.entropies[low:high][order].astype(float)
        free = np.maximum.accumulate(entropies) if active else 0.0
        within = np.cumsum(entropies) - free <= settings.entropy_bound
        chosen[low + order[: leading(within)]] = True
    return moved(canvas, slots, seen, chosen)


RULE = Selection(
    card=Card(
        name="entropy_bound", kind="selection", title="Entropy bound (EB-Sampler)", source="arXiv 2505.24857",
        formula="the longest prefix U, by confidence, with sum H - max H <= gamma", defaults="gamma 0.001 to 0.1 nats",
        inferred="in half-active blocks of a pipeline the least certain mask is not free",
    ),
    pick=entropy_bound, columns=("entropies",),
)  # fmt: skip

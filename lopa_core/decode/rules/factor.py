"""Fast-dLLM's factor rule: the more masks are filled at once, the surer each of them has to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .card import Card, Selection
from .plain import blocks, moved, ranked

if TYPE_CHECKING:
    from ..canvas import Canvas
    from ..observation import Observation
    from ..settings import DecodeSettings


def factor(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> np.ndarray:
    """Per block the n most probable masks, where n is the largest with (k + 1)(1 - p_k) < factor for k = 1..n.

    The scan stops at the first failure (Fast-dLLM, arXiv 2505.22618, section 3.3). All masks pass if the last one does.
    """
    chosen = np.zeros(len(slots), dtype=bool)
    for low, high, _ in blocks(canvas, slots):
        order = ranked(seen.probabilities[low:high])
        enough = (np.arange(len(order)) + 2) * (1 - seen.probabilities[low:high][order].astype(float)) < settings.factor
        chosen[low + order[: leading(enough)]] = True
    return moved(canvas, slots, seen, chosen)


def leading(passes: np.ndarray) -> int:
    """How many pass before the first that fails; all if none does."""
    return len(passes) if passes.all() else int(passes.argmin())


RULE = Selection(
    card=Card(
        name="factor", kind="selection", title="Fast-dLLM factor", source="Fast-dLLM, arXiv 2505.22618",
        formula="the n most probable masks, n the largest with (n + 1)(1 - p_n) < factor", defaults="factor 1",
        inferred="in half-active blocks of a pipeline the first mask has to pass too",
    ),
    pick=factor,
)  # fmt: skip

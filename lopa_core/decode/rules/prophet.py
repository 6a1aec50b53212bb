"""Prophet: once the answer is settled, write all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .card import Card, Terminator

if TYPE_CHECKING:
    from ..canvas import Canvas
    from ..observation import Observation
    from ..settings import DecodeSettings


def settled(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> bool:
    """Whether the mean gap between the two highest logits of the masks reaches what this stage of the decode asks."""
    answer = canvas.tokens[canvas.prompt :]
    progress = 1 - np.count_nonzero(answer == canvas.mask_id) / len(answer)
    asked = settings.prophet_early if progress < 0.33 else settings.prophet_middle if progress < 0.67 else settings.prophet_late
    return float(seen.gaps.mean()) >= asked


RULE = Terminator(
    card=Card(
        name="prophet", kind="terminator", title="Prophet", source="arXiv 2508.19982",
        formula="fill every mask once the mean gap of the two highest logits is >= 7.5, 5 or 2.5 in the first, second or last third",
        defaults="7.5, 5, 2.5",
        inferred="the paper watches a planted answer span and ends the whole text; here the gap is that of all masks of the open "
        "blocks, which are then filled, and progress is the share of slots written",
    ),
    settled=settled, columns=("gaps",),
)  # fmt: skip

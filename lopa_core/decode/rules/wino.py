"""WINO: draft wide, verify narrow, in one forward; what does not stand the check becomes a mask again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .card import Card, Remasking, Selection
from .plain import blocks, moved, ranked

if TYPE_CHECKING:
    from ..canvas import Canvas
    from ..observation import Observation
    from ..settings import DecodeSettings

SHARE, LEAST, MOST = 0.7, 5, 20  # of a block's masks a round fills at most, and within which bounds


def wino(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> np.ndarray:
    """Per block the masks with p > wino_tau, the most probable ones up to 70 % of its masks, which is taken as 5 to 20."""
    chosen = np.zeros(len(slots), dtype=bool)
    for low, high, _ in blocks(canvas, slots):
        most = min(max(int(SHARE * (high - low)), LEAST), MOST)
        order = ranked(seen.probabilities[low:high])[:most]
        chosen[low + order] = seen.probabilities[low:high][order] > settings.wino_tau
    return moved(canvas, slots, seen, chosen)


def doubted(slots: np.ndarray, seen: Observation, filled: int, surplus: int, settings: DecodeSettings) -> np.ndarray:
    """Written slots whose token has a probability below wino_keep in its own absence, the least probable ones up to filled - 1.

    A refuted token, below wino_refuted, may go beyond that bound while there is a surplus (ours): where a round fills one
    mask, the paper's bound is none, and a text could end with tokens that the network has just called impossible.
    """
    order = np.argsort(seen.claims, kind="stable")
    claims, place, bound = seen.claims[order], np.arange(len(order)), max(filled - 1, 0)
    doubtful = (claims < settings.wino_keep) & (place < bound)
    refuted = (claims < min(settings.wino_keep, settings.wino_refuted)) & (place < surplus)
    return slots[order[doubtful | refuted]]


SELECTION = Selection(
    card=Card(
        name="wino", kind="selection", title="WINO's draft", source="arXiv 2507.18578; caps as in d2Cache's code",
        formula="p > wino_tau, at most 70 % of a block's masks (5 to 20)", defaults="wino_tau 0.6 to 0.7",
    ),
    pick=wino,
)  # fmt: skip
REMASKING = Remasking(
    card=Card(
        name="wino", kind="re-masking", title="WINO", source="arXiv 2507.18578",
        formula="a written token becomes a mask again if p(token) < wino_keep for a mask in its place; fewer than were written",
        defaults="wino_keep 0.9, wino_refuted 0.1 (0 is the paper's)",
        tokens="1 per written slot of the active blocks (2 where the model is shifted), seen by no other token",
        inferred="each copy stands alone: the copies of other slots do not see it, so that its own token cannot leak; "
        "and a token with p < wino_refuted may go beyond that bound, as long as the text has gained a slot per round so far",
    ),
    doubted=doubted, blind=True,
)  # fmt: skip

"""One token per pass, and threshold decoding; what all rules share: blocks, ties, and that decoding always moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .card import Card, Selection

if TYPE_CHECKING:
    from ..canvas import Canvas
    from ..observation import Observation
    from ..settings import DecodeSettings


def best(confidences: np.ndarray) -> int:
    """Index of the highest confidence; ties go to the earlier slot."""
    return int(confidences.argmax())


def ranked(confidences: np.ndarray) -> np.ndarray:
    """Indices from the highest confidence down; ties go to the earlier slot."""
    return np.argsort(-confidences, kind="stable")


def blocks(canvas: Canvas, slots: np.ndarray) -> Iterator[tuple[int, int, bool]]:
    """(low, high, fully active) of every block's stretch low..high of ascending `slots`."""
    block = canvas.block_of(slots)
    bounds = [0, *(np.flatnonzero(block[1:] != block[:-1]) + 1).tolist(), len(block)]
    for low, high in zip(bounds, bounds[1:]):
        yield low, high, bool(canvas.fully_active[block[low]])


def moved(canvas: Canvas, slots: np.ndarray, seen: Observation, chosen: np.ndarray) -> np.ndarray:
    """Indices of `chosen` [n] bool and, so that decoding always moves, the most confident slot of every fully active
    block that has none; half-active blocks wait (D2F, arXiv 2508.09192)."""
    for low, high, active in blocks(canvas, slots):
        if active and not chosen[low:high].any():
            chosen[low + best(seen.confidences[low:high])] = True
    return np.flatnonzero(chosen)


def threshold(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> np.ndarray:
    """All masks with probability > tau_conf (LoPA Eq. 1; strictly)."""
    return moved(canvas, slots, seen, seen.probabilities > settings.tau_conf)


def one(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> np.ndarray:
    """The single most confident mask of the first block that has any: one token per forward pass."""
    block = canvas.block_of(slots)
    return np.array([best(seen.confidences[block == block[0]])])


ONE = Selection(
    card=Card(
        name="one", kind="selection", title="One token per pass", source="LLaDA, arXiv 2502.09992",
        formula="argmax of the confidence over the masks of the first block that has any",
    ),
    pick=one,
)  # fmt: skip
THRESHOLD = Selection(
    card=Card(
        name="threshold", kind="selection", title="Confidence decoding",
        source="Fast-dLLM, arXiv 2505.22618; LoPA, arXiv 2512.16229, Eq. 1",
        formula="all masks with p > tau_conf", defaults="tau_conf 0.9",
    ),
    pick=threshold,
)  # fmt: skip

"""Lookahead branches (LoPA, arXiv 2512.16229, Algorithm 1): spawned after a fill, scored by the next forward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .canvas import Canvas
from .observation import Observation

if TYPE_CHECKING:
    from .settings import DecodeSettings


@dataclass(frozen=True, slots=True)
class Tried:
    """The one token in which a lookahead branch differs from the anchor."""

    slot: int
    token: int
    probability: float
    confidence: float


@dataclass(slots=True)
class Branch:
    """One future of the canvas; `tried` is None for the anchor. more: further tokens of a draft."""

    canvas: Canvas
    tried: Tried | None = None
    more: tuple[Tried, ...] = ()


def tried_at(slots: np.ndarray, seen: Observation, index: int) -> Tried:
    """What the observation would write at the index-th of `slots`."""
    return Tried(int(slots[index]), int(seen.tokens[index]), float(seen.probabilities[index]), float(seen.confidences[index]))


def spawn(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> list[Branch]:
    """Lookahead branches at the k most confident masks left (ties: lower slot first), then the anchor.

    slots, seen: the masks left after the fill and what the winner's forward said of them. The confidence floor
    is ours: a position becomes a branch only if its token's probability reaches it.
    """
    ranked = np.argsort(-seen.confidences, kind="stable")
    if settings.confidence_floor > 0:
        ranked = ranked[seen.probabilities[ranked] >= settings.confidence_floor]
    branches = []
    for index in ranked[: settings.lookahead].tolist():
        tried = tried_at(slots, seen, index)
        future = canvas.copy()
        future.decide(tried.slot, tried.token)
        branches.append(Branch(future, tried))
    if settings.duplicate_anchor and settings.lookahead and not len(slots):
        branches.append(Branch(canvas.copy()))
    return [*branches, Branch(canvas)]


def score(confidences: np.ndarray, tried: Tried | None, settings: DecodeSettings) -> float:
    """Branch confidence (Eq. 2): mean confidence of the masks left, higher is better; 1 if none is left.

    score_window > 0 takes the least confident stretch of so many neighbouring masks (ours). The official code's two
    knobs: only the least confident share of the masks counts, and the tried token's own confidence (1 for the
    anchor) is mixed in.
    """
    count = len(confidences)
    if 0 < settings.score_window < count:
        stretches = np.lib.stride_tricks.sliding_window_view(confidences, settings.score_window)
        confidences = stretches[stretches.sum(axis=1, dtype=np.float64).argmin()]
        count = settings.score_window
    if settings.score_tail_fraction < 1 and count:
        count = max(1, int(count * settings.score_tail_fraction))
        confidences = np.partition(confidences, count - 1)[:count]
    mean = float(np.add.reduce(confidences, dtype=np.float64)) / count if count else 1.0
    creation = tried.confidence if tried else 1.0
    return settings.score_creation_weight * creation + (1 - settings.score_creation_weight) * mean


def winner(scores: Sequence[float]) -> int:
    """Index of the highest score; ties go to the earlier branch, and the anchor is last."""
    return max(range(len(scores)), key=lambda index: (scores[index], -index))

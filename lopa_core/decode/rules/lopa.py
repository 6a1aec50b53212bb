"""LoPA's branching, and ours that spends fewer rows on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..branch import Branch, score, spawn
from .card import Branching, Card, PickIn

if TYPE_CHECKING:
    from ..canvas import Canvas
    from ..observation import Observation
    from ..settings import DecodeSettings


def weigh(
    branches: Sequence[Branch], slots: Sequence[np.ndarray], seen: Sequence[Observation], settings: DecodeSettings, pick: PickIn
) -> list[float]:
    """LoPA's branch confidence of every branch (Eq. 2).

    anchor_floor (ours): the anchor runs in the same forward and has seen the last fill, so what it now says of a tried
    slot tells a word that was one of several right ones, which it still says, from a guess that the fill has refuted. A
    refuted branch scores 1 less than the anchor or than itself, so it cannot win.
    """
    scores = [score(each.confidences, branch.tried, settings) for branch, each in zip(branches, seen)]
    if settings.anchor_floor == 0 or branches[-1].tried:
        return scores
    said = confirmed(slots[-1], seen[-1], settings.anchor_floor)
    stands = [branch.tried is None or said.get(branch.tried.slot) == branch.tried.token for branch in branches]
    return [own if firm else min(own, scores[-1]) - 1 for firm, own in zip(stands, scores)]


def confirmed(slots: np.ndarray, seen: Observation, floor: float) -> dict[int, int]:
    """{slot: token} of predictions with a probability of at least `floor`."""
    sure = seen.probabilities >= floor
    return dict(zip(slots[sure].tolist(), seen.tokens[sure].tolist()))


def spawn_adaptively(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> list[Branch]:
    """LoPA's branches without those that rarely pay.

    A lookahead beats its anchor in nine of ten rounds, so where one is at hand whose token has a probability of at
    least adaptive_sure, the anchor is not run; and a token that is less probable than the best one by more than
    adaptive_gap is not tried. Beside LEAP, only tokens are that its look into the future has confirmed. With a reach of
    one block the anchor is run all the same: branches take from it what they are not asked.
    """
    if seen.future_tokens is not None:
        agreed = seen.future_tokens == seen.tokens
        slots, seen = slots[agreed], seen.part(agreed)
    *lookaheads, anchor = spawn(canvas, slots, seen, settings)
    if not lookaheads:
        return [anchor]
    best = max(branch.tried.probability for branch in lookaheads)
    kept = [branch for branch in lookaheads if branch.tried.probability >= best - settings.adaptive_gap]
    return kept if settings.reach == "window" and best >= settings.adaptive_sure else [*kept, anchor]


LOOKAHEAD = Branching(
    card=Card(
        name="lookahead", kind="branching", title="LoPA", source="arXiv 2512.16229, Algorithm 1",
        formula="k branches, each with one of the k most confident masks written; the highest mean confidence of the masks left wins",
        defaults="k 7 or 14, confidence sum p log p", rows="up to k",
        inferred="the floor under a lookahead token's probability is ours, 0 is the paper's; so is the least confident stretch of "
        "score_window masks, one reading of a score over a sliding window; and anchor_floor, which asks the anchor's own forward",
    ),
    spawn=spawn, weigh=weigh,
)  # fmt: skip
ADAPTIVE = Branching(
    card=Card(
        name="adaptive", kind="branching", title="Adaptive LoPA (ours)", source="this repository",
        formula="LoPA without lookaheads less probable than the best by more than adaptive_gap, asked about the block of their token "
        "alone (reach block); with reach window without the anchor where a lookahead has p >= adaptive_sure; beside LEAP, "
        "confirmed tokens only",
        defaults="lookahead 3, adaptive_gap 0.5, reach block", rows="up to k, of one block each; none where nothing reaches the floor",
        inferred="all of it is ours, chosen on held-out problems of the embedded model",
    ),
    spawn=spawn_adaptively, weigh=weigh,
)  # fmt: skip

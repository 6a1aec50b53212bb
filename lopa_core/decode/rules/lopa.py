"""LoPA's branching, and two of ours: one that spends fewer rows, one whose branches try several tokens."""

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
    return [own if stands(branch, said) else min(own, scores[-1]) - 1 for branch, own in zip(branches, scores)]


def confirmed(slots: np.ndarray, seen: Observation, floor: float) -> dict[int, int]:
    """{slot: token} of predictions with a probability of at least `floor`."""
    sure = seen.probabilities >= floor
    return dict(zip(slots[sure].tolist(), seen.tokens[sure].tolist()))


def stands(branch: Branch, said: dict[int, int]) -> bool:
    tried = (branch.tried, *branch.more) if branch.tried else ()
    return all(said.get(each.slot) == each.token for each in tried)


def spawn_ladder(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> list[Branch]:
    """Nested branches: the first holds the most confident mask left, each further one the next most confident besides."""
    *single, anchor = spawn(canvas, slots, seen, settings)
    rungs: list[Branch] = []
    for branch in single:
        before = rungs[-1] if rungs else anchor
        future = before.canvas.copy()
        future.decide(branch.tried.slot, branch.tried.token)
        rungs.append(Branch(future, before.tried or branch.tried, (*before.more, branch.tried) if before.tried else ()))
    return [*reversed(rungs), anchor]


def spawn_adaptively(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> list[Branch]:
    """LoPA's branches without those that rarely pay.

    A lookahead beats its anchor in nine of ten rounds, so where one is at hand whose token has a probability of at
    least adaptive_sure, the anchor is not run; and a token that is less probable than the best one by more than
    adaptive_gap is not tried. Beside LEAP, only tokens are that its look into the future has confirmed.
    """
    if seen.future_tokens is not None:
        confirmed = seen.future_tokens == seen.tokens
        slots, seen = slots[confirmed], seen.part(confirmed)
    *lookaheads, anchor = spawn(canvas, slots, seen, settings)
    if not lookaheads:
        return [anchor]
    best = max(branch.tried.probability for branch in lookaheads)
    kept = [branch for branch in lookaheads if branch.tried.probability >= best - settings.adaptive_gap]
    return kept if best >= settings.adaptive_sure else [*kept, anchor]


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
LADDER = Branching(
    card=Card(
        name="ladder", kind="branching", title="Ladder LoPA (ours)", source="this repository, after LoPA (arXiv 2512.16229)",
        formula="branch j has the j most confident masks written; of those whose every token the anchor still gives p >= anchor_floor, "
        "the highest mean confidence of the masks left wins",
        defaults="lookahead 3, anchor_floor 0.5", rows="up to k",
        inferred="all of it is ours, chosen on held-out problems of the embedded model",
    ),
    spawn=spawn_ladder, weigh=weigh,
)  # fmt: skip
ADAPTIVE = Branching(
    card=Card(
        name="adaptive", kind="branching", title="Adaptive LoPA (ours)", source="this repository",
        formula="LoPA without the anchor where a lookahead has p >= adaptive_sure, "
        "and without lookaheads less probable than the best by more than adaptive_gap; beside LEAP, confirmed tokens only",
        defaults="lookahead 2, floor and adaptive_sure 0.6, adaptive_gap 1", rows="up to k - 1, none where nothing reaches the floor",
        inferred="all of it is ours, chosen on held-out problems of the embedded model",
    ),
    spawn=spawn_adaptively, weigh=weigh,
)  # fmt: skip

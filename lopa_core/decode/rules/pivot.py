"""Ripple-Pivot Search, as far as it is known: try several tokens where the model is torn, and also to leave it open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..branch import Branch, Tried
from .card import Branching, Card, PickIn

if TYPE_CHECKING:
    from ..canvas import Canvas
    from ..observation import Observation
    from ..settings import DecodeSettings


def spawn(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> list[Branch]:
    """A branch per kept token of the pivot, the mask whose kept tokens are the most undecided, then the anchor.

    Kept are the best token and, of the next two, those with at least pivot_ratio of its probability; a slot whose kept
    mass is below pivot_mass is no pivot.
    """
    if not len(slots) or not settings.lookahead:
        return [Branch(canvas)]
    shares = np.stack((seen.probabilities, seen.second_probabilities, seen.third_probabilities)).astype(float)
    kept = np.where(shares >= settings.pivot_ratio * shares[0], shares, 0.0)
    mass = kept.sum(axis=0)
    spread = kept / mass
    torn = -(spread * np.log(np.where(spread > 0, spread, 1.0))).sum(axis=0)
    torn[mass < settings.pivot_mass] = -1.0
    pivot = int(torn.argmax())
    if torn[pivot] <= 0:
        return [Branch(canvas)]
    tokens = (seen.tokens[pivot], seen.second_tokens[pivot], seen.third_tokens[pivot])
    branches = []
    for token, share in zip(tokens[: settings.lookahead], kept[:, pivot]):
        if share > 0:
            future = canvas.copy()
            future.decide(int(slots[pivot]), int(token))
            branches.append(Branch(future, Tried(int(slots[pivot]), int(token), float(share), float(seen.confidences[pivot]))))
    return [*branches, Branch(canvas)]


def weigh(
    branches: Sequence[Branch], slots: Sequence[np.ndarray], seen: Sequence[Observation], settings: DecodeSettings, pick: PickIn
) -> list[float]:
    """pivot_weight x probability - mean entropy of the masks other than the pivot; the anchor has the entropy alone."""
    pivot = branches[0].tried.slot if branches[0].tried else -1
    scores = []
    for branch, own, each in zip(branches, slots, seen):
        others = each.entropies[own != pivot]
        plausible = branch.tried.probability if branch.tried else 0.0
        scores.append(settings.pivot_weight * plausible - (float(others.mean(dtype=np.float64)) if len(others) else 0.0))
    return scores


RULE = Branching(
    card=Card(
        name="pivot", kind="branching", title="Ripple-Pivot Search (partly known)", source="arXiv 2608.11742",
        formula="try each likely token of the most undecided mask, and to leave it masked; "
        "the largest drop of the entropy elsewhere + pivot_weight x p wins",
        defaults="10 tokens kept, ratio 0.1, weight 0.1 to 0.5", rows="up to 3",
        inferred="the exact score was not to be found; ours takes the mean entropy of the other masks, and looks at the best three tokens",
    ),
    spawn=spawn, weigh=weigh, columns=("entropies", "second_tokens", "second_probabilities", "third_tokens", "third_probabilities"),
)  # fmt: skip

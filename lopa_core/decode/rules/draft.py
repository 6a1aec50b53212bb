"""FreeDave: drafts of several steps, verified by the next forward; the result is that of the same decoder without drafts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..branch import Branch, tried_at
from .card import Branching, Card, PickIn
from .plain import ranked

if TYPE_CHECKING:
    from ..canvas import Canvas
    from ..observation import Observation
    from ..settings import DecodeSettings


def spawn(canvas: Canvas, slots: np.ndarray, seen: Observation, settings: DecodeSettings) -> list[Branch]:
    """Nested drafts with 1, 2, .. lookahead more tokens, the most confident ones of the first block, then the anchor.

    A draft leaves a mask in its block, so that blocks close by the anchor's fill as they would without drafts. Under
    full attention a round that writes the cache takes none: what it keeps has to be the anchor's.
    """
    if not len(slots) or (settings.attention == "full" and canvas.closing > canvas.committed):
        return [Branch(canvas)]
    block = canvas.block_of(slots)
    order = ranked(seen.confidences[block == block[0]])[:-1][: settings.lookahead]
    tokens = [tried_at(slots, seen, index) for index in order.tolist()]
    drafts = []
    for count in range(1, len(tokens) + 1):
        future = canvas.copy()
        for each in tokens[:count]:
            future.decide(each.slot, each.token)
        drafts.append(Branch(future, tokens[0], tuple(tokens[1:count])))
    return [*drafts, Branch(canvas)]


def weigh(
    branches: Sequence[Branch], slots: Sequence[np.ndarray], seen: Sequence[Observation], settings: DecodeSettings, pick: PickIn
) -> list[float]:
    """Steps that each draft is ahead, 0 for the anchor; -1 if it is refuted.

    A draft stands if the one before it stands, and would itself write the draft's last token.
    """
    *drafts, _ = range(len(branches))
    scores, before = [-1.0] * len(drafts) + [0.0], len(drafts)
    for index in drafts:
        chosen = pick(branches[before].canvas, slots[before], seen[before])
        told = dict(zip(slots[before][chosen].tolist(), seen[before].tokens[chosen].tolist()))
        last = (branches[index].tried, *branches[index].more)[-1]
        if told.get(last.slot) != last.token:
            break
        scores[index], before = float(index + 1), index
    return scores


RULE = Branching(
    card=Card(
        name="draft", kind="branching", title="FreeDave", source="arXiv 2510.00294",
        formula="drafts with the 1, 2, .. D - 1 most confident tokens more; the deepest one goes on that every step before it would write",
        defaults="D 4 (lookahead 3)", rows="up to D - 1",
        inferred="with selection `one` lossless; with another one (the paper's ++ mode) a draft only has to be part of what is written",
    ),
    spawn=spawn, weigh=weigh,
)  # fmt: skip

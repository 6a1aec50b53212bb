"""The typed event of one round: what was looked at, which branch won, what was written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .branch import Tried
from .observation import Observation


@dataclass(frozen=True, slots=True)
class Scored:
    """One branch of a round before its fill. `tried` is None for the anchor; `masks_left` over its whole window."""

    tried: Tried | None
    score: float
    masks_left: int


@dataclass(frozen=True, slots=True)
class Round:
    """One batched forward pass and what came of it.

    branches: in ranking order, lookaheads as spawned and the anchor last. winner: index into them.
    slots, seen: the winner's masked slots before the fill and their predictions. filled: indices into slots that
    were written. start, end: the window of slots that was read. committed: slots in the cache before this round.
    """

    index: int
    branches: tuple[Scored, ...]
    winner: int
    slots: np.ndarray
    seen: Observation
    filled: np.ndarray
    start: int
    end: int
    committed: int

    @property
    def brought(self) -> Tried | None:
        """The token that the winning lookahead brought in; None if the anchor won."""
        return self.branches[self.winner].tried

    @property
    def written(self) -> int:
        """Slots decided in this round: the fill and the winning lookahead's token."""
        return len(self.filled) + (self.brought is not None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a decode ended: all generated slots, and why it stopped (`complete`, `eos` or `round limit`)."""

    tokens: tuple[int, ...]
    reason: str

"""The typed event of one round: what was looked at, which branch won, what was written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .branch import Tried
from .observation import Observation

NOTHING = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Scored:
    """One branch of a round before its fill: its masked slots, over its whole window, and their predictions.

    tried is None for the anchor; more: what a draft tries besides.
    """

    tried: Tried | None
    score: float
    slots: np.ndarray
    seen: Observation
    more: tuple[Tried, ...] = ()

    @property
    def masks_left(self) -> int:
        return len(self.slots)


@dataclass(frozen=True, slots=True)
class Round:
    """One batched forward pass and what came of it.

    branches: in ranking order, lookaheads as spawned and the anchor last. winner: index into them.
    filled: indices into the winner's slots that were written. start, end: the window of slots that was read.
    committed: slots in the cache before this round. taken: slots written earlier that became masks again. copies:
    superposed tokens that all rows read beyond their windows.
    """

    index: int
    branches: tuple[Scored, ...]
    winner: int
    filled: np.ndarray
    start: int
    end: int
    committed: int
    taken: np.ndarray
    copies: int

    @property
    def slots(self) -> np.ndarray:
        """The winner's masked slots before the fill."""
        return self.branches[self.winner].slots

    @property
    def seen(self) -> Observation:
        """What the winner's forward said of them."""
        return self.branches[self.winner].seen

    @property
    def brought(self) -> Tried | None:
        """The first token that the winning lookahead brought in; None if the anchor won."""
        return self.branches[self.winner].tried

    @property
    def written(self) -> int:
        """Slots decided in this round: the fill and what the winning lookahead brought."""
        return len(self.filled) + (self.brought is not None) + len(self.branches[self.winner].more)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a decode ended: all generated slots, and why it stopped (`complete`, `eos` or `round limit`)."""

    tokens: tuple[int, ...]
    reason: str

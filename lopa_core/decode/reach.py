"""How far a lookahead branch is looked at: over its whole window, as in the paper, or over the block of its tried token (ours).

A tried token says most about its own block, and under block-causal attention nothing about the blocks before. With
reach "block" a branch is asked about that block alone; of its other masks it takes what the anchor says in the same
forward, which is what confidence decoding would know of them. A branch then costs one block of columns instead of all
that are open. Blocks that it has opened and the anchor has not are left for the next round.

Reach "masks" asks the same, and computes of the block only the columns that predict its masks, and the tried token; the
others keep the anchor's keys and values, which have not seen that token. An approximation, as Fast-dLLM's dual cache
(arXiv 2505.22618) is one: a branch costs as many columns as its block has masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .branch import Branch

if TYPE_CHECKING:
    from .settings import DecodeSettings

REACHES = ("window", "block", "masks")


def answers(
    branches: Sequence[Branch], rows: np.ndarray, slots: np.ndarray, settings: DecodeSettings, known: int
) -> tuple[np.ndarray, np.ndarray]:
    """(asked [n], whose [all]): which masked slots are asked about, and which of their n answers is about each slot.

    rows, slots [all]: the masked slots of all branches, one branch after the other, ascending. Those before `known` have
    the remembered answer, number n.
    """
    fresh, takes = slots >= known, np.zeros(0, dtype=np.int64)
    if settings.reach != "window":
        tried = np.array([-1 if branch.tried is None else branch.canvas.block_of(branch.tried.slot) for branch in branches])[rows]
        takes = np.flatnonzero((tried >= 0) & (branches[-1].canvas.block_of(slots) != tried))
        fresh[takes] = False
    asked = np.flatnonzero(fresh)
    whose = np.where(fresh, np.cumsum(fresh) - 1, len(asked))
    anchor = np.searchsorted(rows, len(branches) - 1)  # the last branch: it has every mask of the others
    whose[takes] = whose[anchor + np.searchsorted(slots[anchor:], slots[takes])]
    return asked, whose

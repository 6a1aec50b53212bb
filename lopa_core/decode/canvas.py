"""The canvas of one branch: its tokens and its block schedule.

Slots are positions in the sequence, the prompt included. Behind the prompt they form blocks of one size:

    prompt | cached blocks | to cache | active: fully, then half active | not opened yet
           0          committed     closing                            end

`committed` slots have their keys and values in the cache. Slots committed..closing are full; the next forward
reads them once more and commits them (the prompt at first). Blocks from `closing` on are active.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .settings import DecodeSettings


@dataclass(slots=True)
class Canvas:
    """State of one branch. `tokens` [prompt + slots] holds the mask id where nothing is decided. ends: ids that end the text."""

    tokens: np.ndarray
    mask_id: int
    prompt: int
    block_size: int
    closing: int
    fully_active: np.ndarray  # [blocks] bool
    ends: frozenset[int] = frozenset()
    committed: int = 0
    opened: int = 0
    ended: bool = False  # one of `ends` was written: no more blocks

    @classmethod
    def start(cls, prompt: np.ndarray, settings: DecodeSettings, mask_id: int, ends: frozenset[int] = frozenset()) -> Canvas:
        """The prompt and nothing but masks behind it; the prompt is to be cached."""
        tokens = np.concatenate([prompt, np.full(settings.slots, mask_id)]).astype(np.int64)
        blocks = np.zeros(settings.slots // settings.block_size, dtype=bool)
        return cls(tokens, mask_id, len(prompt), settings.block_size, len(prompt), blocks, ends)

    @property
    def end(self) -> int:
        """Slot behind the last opened block."""
        return self.prompt + self.opened * self.block_size

    def advance(self, tau_add: float, tau_act: float) -> None:
        """The block schedule of D2F (arXiv 2508.09192, section 4.3): open at most one block, then promote."""
        shares = self.filled_shares()
        last = shares[-1] if shares else 1.0
        active = self.opened - len(shares)
        if self.opened < len(self.fully_active) and not self.ended and last >= tau_add:
            self.opened += 1
        # what lies before the active blocks is full, be it the prompt; a promotion is never undone
        for block, share in enumerate((1.0, *shares), start=active):
            if share >= tau_act and block < len(self.fully_active):
                self.fully_active[block] = True

    def filled_shares(self) -> list[float]:
        """Share of decided slots of each active block. Python's count on a few slots beats an array's."""
        starts = range(self.closing, self.end, self.block_size)
        masks = (self.tokens[start : start + self.block_size].tolist().count(self.mask_id) for start in starts)
        return [(self.block_size - count) / self.block_size for count in masks]

    def block_of(self, slots: np.ndarray) -> np.ndarray:
        return (slots - self.prompt) // self.block_size

    def write(self, slots: np.ndarray, tokens: np.ndarray) -> None:
        """Decide masked slots."""
        self.tokens[slots] = tokens
        self.ended = self.ended or not self.ends.isdisjoint(tokens.tolist())

    def decide(self, slot: int, token: int) -> None:
        """`write` for a single slot."""
        self.tokens[slot] = token
        self.ended = self.ended or token in self.ends

    def take_back(self, slots: np.ndarray) -> None:
        """Written slots of active blocks become masks again."""
        self.tokens[slots] = self.mask_id
        self.ended = not self.ends.isdisjoint(self.tokens[self.prompt :].tolist())

    def written(self) -> np.ndarray:
        """Decided slots of the active blocks."""
        return self.closing + np.flatnonzero(self.tokens[self.closing : self.end] != self.mask_id)

    def decided(self) -> int:
        """How many slots behind the prompt are no mask."""
        return int(np.count_nonzero(self.tokens[self.prompt :] != self.mask_id))

    def retire(self) -> None:
        """Mark the leading full blocks as to be cached, in order."""
        while self.closing < self.end and self.mask_id not in self.tokens[self.closing : self.closing + self.block_size].tolist():
            self.closing += self.block_size

    def complete(self) -> bool:
        """Nothing is masked, nothing is active and nothing will be opened."""
        return self.closing == self.end and (self.ended or self.opened == len(self.fully_active))

    def first_end(self) -> int:
        """Slot of the first token that ends the text; that behind the canvas if there is none."""
        answer = self.tokens[self.prompt :].tolist()
        return self.prompt + next((place for place, token in enumerate(answer) if token in self.ends), len(answer))

    def answered(self) -> bool:
        """The text has ended and nothing before its end is masked."""
        return self.ended and self.mask_id not in self.tokens[self.prompt : self.first_end()].tolist()

    def copy(self) -> Canvas:
        own = (self.tokens.copy(), self.mask_id, self.prompt, self.block_size, self.closing, self.fully_active.copy())
        return Canvas(*own, self.ends, self.committed, self.opened, self.ended)

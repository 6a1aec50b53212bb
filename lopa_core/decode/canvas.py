"""The canvas of one branch: its tokens and its block schedule.

Slots are positions in the sequence, the prompt included. Behind the prompt they form blocks of one size:

    prompt | cached blocks | to cache | active: fully, then half active | not opened yet
           0          committed     closing                            end

`committed` slots have their keys and values in the cache. Slots committed..closing are full; the next forward
reads them once more and commits them (the prompt at first). Blocks from `closing` on are active.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .settings import DecodeSettings


@dataclass(slots=True)
class Canvas:
    """State of one branch. `tokens` [prompt + slots] holds the mask id where nothing is decided."""

    tokens: np.ndarray
    mask_id: int
    prompt: int
    block_size: int
    closing: int
    fully_active: np.ndarray  # [blocks] bool
    committed: int = 0
    opened: int = 0
    ended: bool = False  # an end-of-text was written: no more blocks

    @classmethod
    def start(cls, prompt: np.ndarray, settings: DecodeSettings, mask_id: int) -> Canvas:
        """The prompt and nothing but masks behind it; the prompt is to be cached."""
        tokens = np.concatenate([prompt, np.full(settings.slots, mask_id)]).astype(np.int64)
        blocks = np.zeros(settings.slots // settings.block_size, dtype=bool)
        return cls(tokens, mask_id, len(prompt), settings.block_size, len(prompt), blocks)

    @property
    def end(self) -> int:
        """Slot behind the last opened block."""
        return self.prompt + self.opened * self.block_size

    def masked(self) -> np.ndarray:
        """Masked slots of the opened blocks, in order."""
        return np.flatnonzero(self.tokens[self.closing : self.end] == self.mask_id) + self.closing

    def advance(self, tau_add: float, tau_act: float) -> None:
        """The block schedule of D2F (arXiv 2508.09192, section 4.3): open at most one block, then promote."""
        filled = self.filled_share()
        last = filled[-1] if self.opened else 1.0
        if self.opened < len(self.fully_active) and not self.ended and last >= tau_add:
            self.opened += 1
        # the prompt counts as a full block in front; a promotion is never undone
        self.fully_active[0] = True
        promoted = np.flatnonzero(filled >= tau_act) + 1
        self.fully_active[promoted[promoted < len(self.fully_active)]] = True

    def filled_share(self) -> np.ndarray:
        """Share of decided slots of each opened block."""
        blocks = self.tokens[self.prompt : self.end].reshape(self.opened, self.block_size)
        return (blocks != self.mask_id).sum(axis=1) / self.block_size

    def block_of(self, slots: np.ndarray) -> np.ndarray:
        return (slots - self.prompt) // self.block_size

    def write(self, slots: np.ndarray, tokens: np.ndarray, eos_id: int | None) -> None:
        """Decide masked slots."""
        self.tokens[slots] = tokens
        if eos_id is not None and eos_id in tokens.tolist():
            self.ended = True

    def retire(self) -> None:
        """Mark the leading full blocks as to be cached, in order."""
        while self.closing < self.end and self.mask_id not in self.tokens[self.closing : self.closing + self.block_size].tolist():
            self.closing += self.block_size

    def complete(self) -> bool:
        """Nothing is masked, nothing is active and nothing will be opened."""
        return self.closing == self.end and (self.ended or self.opened == len(self.fully_active))

    def answered(self, eos_id: int | None) -> bool:
        """An end-of-text is written and nothing before it is masked."""
        if not self.ended:
            return False
        answer = self.tokens[self.prompt : self.end].tolist()
        return eos_id in answer and self.mask_id not in answer[: answer.index(eos_id)]

    def copy(self) -> Canvas:
        return replace(self, tokens=self.tokens.copy(), fully_active=self.fully_active.copy())

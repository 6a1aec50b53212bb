"""What an engine asks of a network: the decoder of network.py and the encoder of encoder.py look the same to it.

Shapes: B rows (branches), W window tokens, S = start + W tokens that can be seen, M columns asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from .family import ModelConfig


class Prefix(Protocol):
    """What is kept of the slots before the window, one row per branch. What is written past the prefix is scratch.

    kept: up to which slot behind a window keys and values are seen as they are; 0: none. An encoder's has none.
    """

    kept: int

    def commit(self, row: int, start: int, end: int, rows: int) -> None:
        """Row `row` won: its slots start..end become the prefix of all `rows` in use."""

    def span(self, row: int, start: int, end: int) -> Tensor:
        """A row's slots start..end as one block of memory, to be sent to another device."""

    def fill(self, span: Tensor, start: int, end: int, rows: int) -> None:
        """Write a `span`, of another cache maybe, into all `rows` in use."""


class Network(Protocol):
    """Tokens in, hidden rows out; `head` turns those of them that are wanted into logits [.., vocabulary]."""

    config: ModelConfig
    head: Callable[[Tensor], Tensor]

    @property
    def device(self) -> torch.device: ...

    @property
    def dtype(self) -> torch.dtype: ...

    def new_cache(self, rows: int, length: int) -> Prefix:
        """Room for `rows` branches of `length` slots."""

    def __call__(
        self, tokens: Tensor, *, start: int = 0, mask: Tensor | None = None, cache: Prefix | None = None,
        columns: Tensor | None = None, positions: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Hidden rows [B, W, hidden] of `tokens` [B, W] at positions start..S behind the cache's prefix.

        mask: bool, True = may be seen, broadcastable to [B, 1, W, S]; None: all. columns [B, M]: only these: [B, M, hidden].
        positions [B, W]: where columns stand, if not one behind the other.
        """

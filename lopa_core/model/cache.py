"""Static key/value cache: one row per branch, allocated once, written in place.

A forward writes its window behind the committed prefix of every row it runs. What is written past the prefix
is scratch, overwritten by the next forward, until `commit` makes the winner's span the prefix of all rows.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .family import ModelConfig


class Cache:
    """Keys and values [layers, rows, K, length, D]. kv_heads: K, where a device has only some of the config's."""

    def __init__(
        self, config: ModelConfig, *, rows: int, length: int, device: torch.device, dtype: torch.dtype, kv_heads: int | None = None
    ) -> None:
        shape = (config.layers, rows, kv_heads or config.kv_heads, length, config.head_dim)
        self.keys = torch.empty(shape, device=device, dtype=dtype)
        self.values = torch.empty(shape, device=device, dtype=dtype)
        self.kept = 0  # slots behind a window that are seen as they are here, up to this one

    def layer(self, index: int, rows: int, start: int) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """A store for one layer: takes the window's k, v [B, K, W, D], returns prefix + window [B, K, start + W, D],
        and what is kept behind it."""

        def store(k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
            end = start + k.shape[2]
            keys, values = self.keys[index, :rows], self.values[index, :rows]
            keys[:, :, start:end], values[:, :, start:end] = k, v
            seen = max(end, self.kept)
            return keys[:, :, :seen], values[:, :, :seen]

        return store

    def commit(self, row: int, start: int, end: int, rows: int) -> None:
        """Copy the winner's slots start..end to all `rows` in use: they are part of the common prefix from now on."""
        if rows == 1:
            return
        for kept in (self.keys, self.values):
            kept[:, :rows, :, start:end] = kept[:, row : row + 1, :, start:end].clone()

    def span(self, row: int, start: int, end: int) -> Tensor:
        """A row's keys and values of slots start..end as one block of memory [2, layers, K, end - start, D]."""
        return torch.stack((self.keys[:, row, :, start:end], self.values[:, row, :, start:end]))

    def fill(self, span: Tensor, start: int, end: int, rows: int) -> None:
        """Write a `span`, of another cache maybe, into all `rows` in use."""
        for kept, part in zip((self.keys, self.values), span):
            kept[:, :rows, :, start:end] = part[:, None]

"""Who may see whom: attention masks as bool tensors, True = may be seen."""

from __future__ import annotations

import torch
from torch import Tensor


def block_causal_mask(start: int, end: int, prompt: int, block_size: int, device: torch.device) -> Tensor:
    """[1, 1, end - start, end]: the slots start..end see their own block and all before it; the prompt is one block.

    Rows that end early need no mask of their own: their padding is a later block, which nothing before it sees.
    """
    slot = torch.arange(end, device=device)
    block = torch.where(slot < prompt, -1, (slot - prompt).div(block_size, rounding_mode="floor"))
    return (block[start:, None] >= block[None, :])[None, None]


def padding_mask(ends: Tensor, end: int) -> Tensor:
    """[B, 1, 1, end]: each row sees the slots before its own end."""
    return (torch.arange(end, device=ends.device) < ends[:, None])[:, None, None]

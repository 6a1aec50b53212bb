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


def copies_mask(
    originals: Tensor | None, slots: Tensor, judged: Tensor, hidden: Tensor, links: Tensor, *, start: int, ends: Tensor, end: int,
    blocks: tuple[int, int] | None,
) -> Tensor:  # fmt: skip
    """[B, 1, W + E, end + E]: the window start..end as `originals` has it, blind to the E copies behind it; and the copies.

    A copy at `slots` [B, E] sees the originals its place may see (blocks: prompt and block size, for block-causal
    attention; else up to the row's end, ends [B]), but none of `hidden` [B, end] and neither that at its own place nor
    that of `judged` [B, E]; and the copies in `links` [B, E, E]. originals: [B or 1, 1, W or 1, end], or None for all.
    """
    (rows, count), width, place = slots.shape, end - start, torch.arange(end, device=slots.device)
    if blocks is None:
        within = (place < ends[:, None])[:, None]
    else:
        prompt, size = blocks
        own, other = (torch.where(each < prompt, -1, (each - prompt).div(size, rounding_mode="floor")) for each in (slots, place))
        within = own[:, :, None] >= other
    seen = within & ~hidden[:, None, :end] & (place != slots[:, :, None]) & (place != judged[:, :, None])
    mask = slots.new_zeros(rows, 1, width + count, end + count, dtype=torch.bool)
    mask[:, :, :width, :end] = True if originals is None else originals
    mask[:, 0, width:, :end], mask[:, 0, width:, end:] = seen, links
    return mask

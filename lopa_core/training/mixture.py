"""What one training sequence shows and asks: the mixture of objectives behind the embedded model.

Every batch mixes four objectives sequence by sequence, never one after the other: a hard switch from the
autoregressive warm start to diffusion wipes the arithmetic out within minutes.
All use the shifted head (row i predicts slot i + 1), so the objectives train one and the same function.

    autoregressive   clean input, causal attention, every solution token is asked
    prefix           a clean prefix, everything behind it masked; the first masked tokens count most
    blocks           Discrete Diffusion Forcing (arXiv 2508.09192): mask ratios that grow from block to block
    uniform          each solution slot masked with one ratio (LLaDA, arXiv 2502.09992, section 2.2)
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

AUTOREGRESSIVE, PREFIX, BLOCKS, UNIFORM = range(4)
WARM_START = (1.0, 0.0, 0.0, 0.0)
DIFFUSION = (0.22, 0.28, 0.38, 0.12)
FULL_ATTENTION_SHARE = 0.3  # of the prefix sequences; the others are block-causal like decoding
PADDING_WEIGHT = 0.05  # of end-of-text slots behind the first one: nearly free to predict
PREFIX_DECAY = 0.85  # weight of a prefix sequence's n-th masked token is PREFIX_DECAY ** n, at least PREFIX_FLOOR
PREFIX_FLOOR = 0.15


@dataclass(frozen=True, slots=True)
class Batch:
    """B clean sequences of length T: prompt, solution, then end-of-text up to T."""

    tokens: Tensor  # [B, T]
    prompt: Tensor  # [B] prompt lengths
    ends: Tensor  # [B] position behind the first end-of-text


@dataclass(frozen=True, slots=True)
class Question:
    """What the network is shown and asked."""

    inputs: Tensor  # [B, T]
    mask: Tensor  # [B, 1, T, T] bool, True = may be seen
    rows: Tensor  # [n] flat row indices into [B * T]
    targets: Tensor  # [n] token ids
    weights: Tensor  # [n] fp32, mean 1


def ask(batch: Batch, shares: tuple[float, ...], block_sizes: tuple[int, ...], mask_id: int, generator: torch.Generator) -> Question:
    """Draw an objective for every sequence of the batch and build what is shown and asked."""
    rows, length = batch.tokens.shape
    mode = torch.multinomial(torch.tensor(shares), rows, replacement=True, generator=generator)
    sizes = torch.tensor(block_sizes)[torch.randint(len(block_sizes), (rows,), generator=generator)]
    position = torch.arange(length).expand(rows, length)
    in_solution = position >= batch.prompt[:, None]
    block = torch.where(in_solution, (position - batch.prompt[:, None]) // sizes[:, None] + 1, 0)

    masked, weight = hide(batch, mode, position, block, generator)
    masked &= in_solution
    causal = mode == AUTOREGRESSIVE
    asked = torch.where(causal[:, None], in_solution & (position < batch.ends[:, None]), masked)
    weight = torch.where(position >= batch.ends[:, None], PADDING_WEIGHT, weight)

    full = (mode == UNIFORM) | ((mode == PREFIX) & (torch.rand(rows, generator=generator) < FULL_ATTENTION_SHARE))
    by_position = position[:, :, None] >= position[:, None, :]
    by_block = block[:, :, None] >= block[:, None, :]
    visible = torch.where(causal[:, None, None], by_position, by_block | full[:, None, None])

    flat = asked.flatten().nonzero().squeeze(1)
    return Question(
        inputs=batch.tokens.masked_fill(masked, mask_id),
        mask=visible[:, None],
        rows=flat - 1,  # the shifted head; a prompt is never empty, so no row is lost at a sequence's start
        targets=batch.tokens.flatten()[flat],
        weights=weight.flatten()[flat],
    )


def hide(batch: Batch, mode: Tensor, position: Tensor, block: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Which slots are masked [B, T] (bool) and the loss weight of each slot [B, T]."""
    rows, length = batch.tokens.shape
    uniform = torch.rand(rows, generator=generator)
    noise = torch.rand(rows, length, generator=generator)

    cut = batch.prompt + (uniform * (batch.ends - batch.prompt)).long()
    behind = (position - cut[:, None]).clamp(min=0)
    decay = (PREFIX_DECAY**behind).clamp(min=PREFIX_FLOOR)

    ratio = block_ratios(batch, block, generator).gather(1, block)
    masked = torch.zeros(rows, length, dtype=torch.bool)
    masked |= (mode == PREFIX)[:, None] & (position >= cut[:, None])
    masked |= (mode == BLOCKS)[:, None] & (noise < ratio)
    masked |= (mode == UNIFORM)[:, None] & (noise < uniform[:, None].clamp(min=0.02))
    return masked, torch.where((mode == PREFIX)[:, None], decay, 1.0)


def block_ratios(batch: Batch, block: Tensor, generator: torch.Generator) -> Tensor:
    """Mask ratio of each block [B, blocks + 1]: 0 before a random block, then growing towards 1, as a pipeline looks."""
    rows, blocks = len(batch.tokens), int(block.max()) + 1
    last = block.gather(1, (batch.ends - 1)[:, None]).squeeze(1)
    first = 1 + (torch.rand(rows, generator=generator) * last).long()
    steps = torch.rand(rows, blocks, generator=generator)
    kept = torch.where(torch.arange(blocks) < first[:, None], 1.0, steps)
    return 1 - kept.cumprod(dim=1)

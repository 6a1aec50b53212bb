"""The winner's distributions of the last round, kept where they were computed: too large to leave a device."""

from __future__ import annotations

import torch
from torch import Tensor

UNSEEN = 1e6  # nats: a slot that was not asked about before has changed beyond any bound


class Distributions:
    """KL(p now || p of the last winner) per query, in fp32. Memory: masked slots x vocabulary, for two rounds."""

    def __init__(self) -> None:
        self.slots: Tensor | None = None  # [m], and their distributions [m, vocabulary]
        self.shares: Tensor | None = None

    def divergence(self, shares: Tensor, slots: Tensor) -> Tensor:
        """[n] of distributions `shares` [n, vocabulary] at `slots` [n]."""
        self.now = slots, shares
        if self.slots is None or not len(self.slots):
            return shares.new_full((len(shares),), UNSEEN)
        same = slots[:, None] == self.slots
        before = self.shares[same.int().argmax(dim=1)]
        moved = (torch.special.xlogy(shares, shares) - torch.special.xlogy(shares, before)).sum(dim=-1)
        return torch.where(same.any(dim=1), moved, UNSEEN)

    def keep(self, queries: Tensor) -> None:
        """Those of the winner's `queries` are what the next round is compared with."""
        slots, shares = self.now
        self.slots, self.shares = slots[queries], shares[queries]

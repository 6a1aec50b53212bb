"""CreditDecoding: tokens that were the prediction again and again get credit, which is added to their logits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from .card import Card

if TYPE_CHECKING:
    from ..observation import Observation
    from ..settings import DecodeSettings


class Ledger:
    """Credit of a few tokens per slot, along the winners' path: E <- beta E, then E[prediction] += p ** gamma.

    It is kept on the host, from the predictions that every record tells, so that all ranks have the same.
    """

    def __init__(self, settings: DecodeSettings) -> None:
        self.settings, self.slots = settings, {}

    def of(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(tokens [n, K], their credit [n, K] fp32, 0 where a slot has fewer than K)."""
        known = [self.slots.get(slot, {}) for slot in slots.tolist()]
        most = max(map(len, known), default=0)
        tokens, credit = np.zeros((len(known), most), dtype=np.int64), np.zeros((len(known), most), dtype=np.float32)
        for row, each in enumerate(known):
            tokens[row, : len(each)], credit[row, : len(each)] = list(each), list(each.values())
        return tokens, credit

    def tell(self, slots: np.ndarray, seen: Observation) -> Observation:
        """Enter the winner's predictions, as they were without credit; what was entered before is worth beta of it in the next round."""
        beta, entries = self.settings.credit_beta, {}
        earned = seen.raw_probabilities.astype(float) ** self.settings.credit_gamma
        for slot, token, each in zip(slots.tolist(), seen.raw_tokens.astype(int).tolist(), earned.tolist()):
            entry = dict(self.slots.get(slot, {}))
            entry[token] = entry.get(token, 0.0) + each
            entries[slot] = {token: credit * beta for token, credit in entry.items()}
        self.slots = entries
        return seen


def fuse(logits: Tensor, tokens: Tensor, credit: Tensor, alpha: float, gamma: float) -> tuple[Tensor, Tensor]:
    """Adds alpha log(1 + E) to `logits` [n, vocabulary] in place; returns the predictions before and their probabilities.

    E is the `credit` [n, K] of `tokens` [n, K] and, as in dInfer, this forward's own p ** gamma for its prediction.
    """
    shares, raw = logits.softmax(dim=-1).max(dim=-1)
    own = (tokens == raw[:, None]) & (credit > 0)
    earned = shares**gamma
    logits.scatter_add_(1, tokens, alpha * torch.log1p(credit + own * earned[:, None]))
    new = torch.where(own.any(dim=1), 0.0, alpha * torch.log1p(earned))
    logits.scatter_add_(1, raw[:, None], new[:, None])
    return raw, shares


CARD = Card(
    name="credit", kind="prediction", title="CreditDecoding", source="arXiv 2510.06133; formula as in dInfer's code",
    formula="E <- beta E, E[prediction] += p ** gamma; logits + alpha log(1 + E), then any selection rule",
    defaults="alpha 0.7, beta 0.8, gamma 0.2, tau_conf 0.8",
    inferred="the paper's own formula is not known to us; ours keeps tau_conf as it is, and along LoPA's branches the winner's credit",
)  # fmt: skip

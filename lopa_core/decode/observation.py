"""What a forward pass tells the decoder: one fixed-size record per masked slot and branch.

Only this record leaves the device that ran the network: token, its probability, its confidence, 12 bytes.
Logits over the vocabulary stay where they are. Everything is computed in fp32 whatever the model's dtype.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

VANISHED = -60.0  # below the highest logit: e**-60 changes no sum, but exp of less is several times slower on a CPU


class Observation(NamedTuple):
    """n records: the predicted token, its probability, and the confidence by which slots and branches are ranked."""

    tokens: np.ndarray  # [n] int64
    probabilities: np.ndarray  # [n] fp32
    confidences: np.ndarray  # [n] fp32

    @classmethod
    def unpack(cls, records: np.ndarray) -> Observation:
        """From the [3, n] fp32 array of `observe`; token ids below 2**24 are exact in fp32."""
        return cls(records[0].astype(np.int64), records[1], records[2])

    def part(self, where: slice | np.ndarray) -> Observation:
        return Observation(self.tokens[where], self.probabilities[where], self.confidences[where])


def observe(logits: Tensor, *, confidence: str, forbidden: int | None, temperature: float = 0.0, uniforms: Tensor | None = None) -> Tensor:
    """Records [3, n] (token, probability, confidence; fp32) of logits [n, vocabulary].

    confidence: `probability` of the token; `margin`, the two highest probabilities' difference; or `neg_entropy`,
    sum p log p in nats (the official Dream scripts' choice). fp32 logits are overwritten. forbidden: a token id that is never predicted.
    temperature > 0 samples: `uniforms` [n] picks each token from the cumulative distribution, so branches
    that share a draw differ by their logits alone. Ties go to the lower token id.
    """
    logits = logits.float()
    if forbidden is not None:
        logits[:, forbidden] = float("-inf")
    if temperature > 0:
        logits = logits / temperature
    logits = logits.sub_(logits.amax(dim=-1, keepdim=True)).clamp_(min=VANISHED)
    tokens = argmax(logits)
    shares = logits.softmax(dim=-1)
    highest = probabilities = shares.gather(1, tokens[:, None]).squeeze(-1)
    if temperature > 0:
        if forbidden is not None:
            shares[:, forbidden] = 0.0
        # of the sum as it was rounded, and right of it: a token without a share is never drawn
        sums = shares.cumsum(dim=-1)
        tokens = torch.searchsorted(sums, uniforms[:, None] * sums[:, -1:], right=True).squeeze(-1)
        probabilities = shares.gather(1, tokens[:, None]).squeeze(-1)
    if confidence == "neg_entropy":
        # log p = logit - highest logit + log(highest p)
        confidences = torch.linalg.vecdot(shares, logits) + highest.log()
    elif confidence == "margin":
        two = shares.topk(2, dim=-1).values
        confidences = two[:, 0] - two[:, 1]
    else:
        confidences = probabilities
    return torch.stack((tokens.float(), probabilities, confidences))


def argmax(logits: Tensor) -> Tensor:
    """Index of the highest logit of each row [n]; ties go to the lower one. NumPy's is vectorised, torch's on a CPU is not."""
    if logits.device.type == "cpu":
        return torch.from_numpy(logits.numpy().argmax(axis=-1))
    return logits.argmax(dim=-1)

"""What a forward pass tells the decoder: one fixed-size record per masked slot and branch.

Only this record leaves the device that ran the network: token, its probability, its confidence, 12 bytes, and 4 for
each column that the decoder's rules ask for besides. Logits over the vocabulary stay where they are. Everything is
computed in fp32 whatever the model's dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .columns import COLUMNS, Said
from .rules.credit import fuse

VANISHED = -60.0  # below the highest logit: e**-60 changes no sum, but exp of less is several times slower on a CPU


class Credit(NamedTuple):
    """Tokens [n, K] and their credit [n, K], its weight alpha, and the power gamma by which a prediction earns some."""

    tokens: Tensor
    credit: Tensor
    alpha: float
    gamma: float


class Observation(NamedTuple):
    """n records: the predicted token, its probability, and the confidence by which slots and branches are ranked.

    The other fields are there only where a rule asks for them: first what the device adds to a record (columns.py),
    then what is worked out beside it from other records of this round or of earlier ones.
    """

    tokens: np.ndarray  # [n] int64
    probabilities: np.ndarray  # [n] fp32
    confidences: np.ndarray  # [n] fp32
    entropies: np.ndarray | None = None  # [n] nats
    gaps: np.ndarray | None = None  # [n] between the two highest logits
    divergences: np.ndarray | None = None  # [n] nats from the last winner's distribution
    claims: np.ndarray | None = None  # [n] probability of the token that stands in a written slot
    second_tokens: np.ndarray | None = None  # [n] the next best tokens
    second_probabilities: np.ndarray | None = None
    third_tokens: np.ndarray | None = None
    third_probabilities: np.ndarray | None = None
    raw_tokens: np.ndarray | None = None  # [n] predictions without credit
    raw_probabilities: np.ndarray | None = None  # [n]
    future_tokens: np.ndarray | None = None  # [n] predictions from a possible future; -1 where there is none
    future_probabilities: np.ndarray | None = None  # [n]
    falls: np.ndarray | None = None  # [n] by how much a claim has become less since it was read last
    bars: np.ndarray | None = None  # [n] mean probability of all tokens when they were written
    steady: np.ndarray | None = None  # [n] rounds in a row without much of a divergence

    @classmethod
    def unpack(cls, records: np.ndarray, columns: tuple[str, ...] = ()) -> Observation:
        """From the [3 + columns, n] fp32 array of `observe`; token ids below 2**24 are exact in fp32."""
        return cls(records[0].astype(np.int64), records[1], records[2], **dict(zip(columns, records[3:])))

    @classmethod
    def join(cls, parts: Sequence[Observation]) -> Observation:
        """One after the other."""
        return cls(*(fields[0] if fields[0] is None else np.concatenate(fields) for fields in zip(*parts)))

    def part(self, where: slice | np.ndarray) -> Observation:
        return Observation(*(field if field is None else field[where] for field in self))


def observe(
    logits: Tensor, *, confidence: str, forbidden: int | None, temperature: float = 0.0, uniforms: Tensor | None = None,
    columns: tuple[str, ...] = (), credit: Credit | None = None, divergence: Callable[[Tensor], Tensor] | None = None,
    targets: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Records [3 + columns, n] (token, probability, confidence; fp32) of logits [n, vocabulary].

    confidence: `probability` of the token; `margin`, the two highest probabilities' difference; or `neg_entropy`,
    sum p log p in nats (the official Dream scripts' choice). fp32 logits are overwritten. forbidden: a token id that is never predicted.
    temperature > 0 samples: `uniforms` [n] picks each token from the cumulative distribution, so branches
    that share a draw differ by their logits alone. Ties go to the lower token id. columns: what else is wanted, names of columns.COLUMNS.
    credit: added to the logits (rules/credit.py); divergence, targets: what the columns divergences and claims ask.
    """
    logits = logits.float()
    if forbidden is not None:
        logits[:, forbidden] = float("-inf")
    if temperature > 0:
        logits = logits / temperature
    logits = logits.sub_(logits.amax(dim=-1, keepdim=True)).clamp_(min=VANISHED)
    raw = None
    if credit is not None:
        raw = fuse(logits, *credit)
        logits.sub_(logits.amax(dim=-1, keepdim=True))
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
    said = Said(logits, shares, highest, raw, divergence, targets)
    return torch.stack((tokens.float(), probabilities, confidences, *(COLUMNS[name](said) for name in columns)))


def argmax(logits: Tensor) -> Tensor:
    """Index of the highest logit of each row [n]; ties go to the lower one. NumPy's is vectorised, torch's on a CPU is not."""
    if logits.device.type == "cpu":
        return torch.from_numpy(logits.numpy().argmax(axis=-1))
    return logits.argmax(dim=-1)

"""What a record may hold beyond 12 bytes: columns that rules ask for, computed where the logits are.

A column is a function here, a line in COLUMNS and a field of Observation of the same name.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Said:
    """logits [n, vocabulary] relative to each row's highest; their softmax; its highest value [n]."""

    logits: Tensor
    shares: Tensor
    highest: Tensor


def entropies(said: Said) -> Tensor:
    """-sum p log p in nats; log p = logit - highest logit + log(highest p)."""
    return -(torch.linalg.vecdot(said.shares, said.logits) + said.highest.log())


COLUMNS = {"entropies": entropies}

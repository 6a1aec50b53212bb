"""What a record may hold beyond 12 bytes: columns that rules ask for, computed where the logits are.

A column is a function here, its name in COLUMNS, and a field of Observation of the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Said:
    """logits [n, vocabulary] relative to each row's highest; their softmax; its highest value [n].

    raw: the predictions [n] without credit and their probabilities [n]; divergence: what tells [n] nats between a softmax
    and that of the round before; targets: tokens [n] whose probability is asked. All only where a rule asks for them.
    """

    logits: Tensor
    shares: Tensor
    highest: Tensor
    raw: tuple[Tensor, Tensor] | None = None
    divergence: Callable[[Tensor], Tensor] | None = None
    targets: Tensor | None = None


def entropies(said: Said) -> Tensor:
    """-sum p log p in nats; log p = logit - highest logit + log(highest p)."""
    return -(torch.linalg.vecdot(said.shares, said.logits) + said.highest.log())


def gaps(said: Said) -> Tensor:
    """Between the two highest logits."""
    return -said.logits.topk(2, dim=-1).values[:, 1]


def divergences(said: Said) -> Tensor:
    return said.divergence(said.shares)


def second_tokens(said: Said) -> Tensor:
    return said.logits.topk(3, dim=-1).indices[:, 1].float()


def second_probabilities(said: Said) -> Tensor:
    return said.shares.topk(3, dim=-1).values[:, 1]


def third_tokens(said: Said) -> Tensor:
    return said.logits.topk(3, dim=-1).indices[:, 2].float()


def third_probabilities(said: Said) -> Tensor:
    return said.shares.topk(3, dim=-1).values[:, 2]


def claims(said: Said) -> Tensor:
    """Probability of the target."""
    return said.shares.gather(1, said.targets[:, None]).squeeze(-1)


def raw_tokens(said: Said) -> Tensor:
    return said.raw[0].float()


def raw_probabilities(said: Said) -> Tensor:
    return said.raw[1]


RIVALS = (second_tokens, second_probabilities, third_tokens, third_probabilities)
COLUMNS = {each.__name__: each for each in (entropies, gaps, divergences, claims, raw_tokens, raw_probabilities, *RIVALS)}

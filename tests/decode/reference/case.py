"""What a decode is about, one branch of it, what was said of a slot, and what earlier rounds leave behind."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from lopa_core.decode.settings import DecodeSettings


@dataclass
class Case:
    """One decode: slots are positions in the sequence, the prompt's included."""

    network: object
    prompt: int
    settings: DecodeSettings

    def __post_init__(self):
        config, settings = self.network.config, self.settings
        self.mask, self.shifted, self.size = config.mask_id, config.shifted, settings.block_size
        self.ends = {settings.eos_token_id} if settings.eos_token_id is not None else set(config.end_ids)
        self.causal, self.length = settings.attention == "block_causal", self.prompt + settings.slots

    def block(self, slot):
        """-1 for the prompt, which is one block."""
        return (slot - self.prompt) // self.size if slot >= self.prompt else -1


@dataclass
class Branch:
    """tried: (slot, token, probability, confidence) of the tokens it has beyond the anchor. closed: leading blocks that are done."""

    tokens: list[int]
    opened: int = 0
    closed: int = 0
    fully_active: frozenset[int] = frozenset({0})
    tried: tuple = ()

    def end(self, case):
        return case.prompt + self.opened * case.size

    def masks(self, case):
        return [slot for slot in range(case.prompt, self.end(case)) if self.tokens[slot] == case.mask]

    def written(self, case):
        """Decided slots of the blocks that are not done."""
        return [slot for slot in range(case.prompt + self.closed * case.size, self.end(case)) if self.tokens[slot] != case.mask]

    def text_end(self, case):
        """The first slot that ends the text, None where none does."""
        return next((slot for slot in range(case.prompt, case.length) if self.tokens[slot] in case.ends), None)


@dataclass
class Said:
    """Of one slot: the distribution [vocabulary], fp64, the same without credit, and what ranks it.

    future: (token, probability) from a written future, of LEAP.
    """

    p: torch.Tensor
    raw: torch.Tensor
    confidence: float
    future: tuple | None = None

    @property
    def token(self):
        return int(self.p.argmax())

    @property
    def probability(self):
        return float(self.p.max())

    @property
    def entropy(self):
        return float(-torch.xlogy(self.p, self.p).sum())

    @property
    def best(self):
        """The three most probable (token, probability)."""
        three = self.p.topk(3)
        return list(zip(three.indices.tolist(), three.values.tolist()))

    @property
    def gap(self):
        """Between the two highest logits."""
        first, second = self.p.topk(2).values.log().tolist()
        return first - second


@dataclass
class Past:
    """Along the winners' path: what each said of its masks, the windows read, what was written and read again."""

    said: list[dict[int, Said]] = field(default_factory=list)
    windows: list[tuple[list[int], int, int]] = field(default_factory=list)  # tokens, start, end
    committed: int = 0
    boundary: Said | None = None
    probabilities: list[float] = field(default_factory=list)  # of all tokens when they were filled
    claims: dict[int, float] = field(default_factory=dict)  # of a written token, when it was read last

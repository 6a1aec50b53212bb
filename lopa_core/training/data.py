"""Endless batches of generated problems. Batch n is a function of the seed and n, so a resumed run sees what an uninterrupted one would."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer

from ..tasks.registry import mixed
from .mixture import Batch
from .vocabulary import ANSWER_CUE, EOS

LISTS = 0.45  # more than the task's share: the words of a list are the harder skill
SHARES = (0.5, 0.85, 1.0)  # of the problems, the shortest first, that each of the static batch shapes holds


def encode(tokenizer: Tokenizer, count: int, *, seed: int, start: int) -> list[tuple[list[int], list[int]]]:
    """`count` problems as (prompt ids, solution ids)."""
    drawn = list(mixed(count, seed=seed, start=start, lists=LISTS))
    prompts = tokenizer.encode_batch([p.question + ANSWER_CUE for p in drawn])
    solutions = tokenizer.encode_batch([f" {p.solution}" for p in drawn])
    return [(p.ids, s.ids) for p, s in zip(prompts, solutions)]


def collate(pairs: list[tuple[list[int], list[int]]], length: int, eos: int) -> Batch:
    """Sequences that fit into `length`, filled up with end-of-text."""
    tokens = torch.full((len(pairs), length), eos)
    for row, (prompt, solution) in zip(tokens, pairs):
        row[: len(prompt) + len(solution)] = torch.tensor(prompt + solution)
    prompt = torch.tensor([len(p) for p, _ in pairs])
    ends = torch.tensor([len(p) + len(s) + 1 for p, s in pairs])
    return Batch(tokens, prompt, ends)


class Stream:
    """Batches of about `tokens` tokens in a few static shapes, from short to long sequences, chosen by the seed."""

    def __init__(self, tokenizer: Tokenizer, *, tokens: int, seed: int) -> None:
        self.tokenizer, self.seed = tokenizer, seed
        self.eos = tokenizer.token_to_id(EOS)
        lengths = sorted(len(p) + len(s) + 1 for p, s in encode(tokenizer, 4000, seed=seed, start=0))
        bounds = [lengths[min(int(len(lengths) * share), len(lengths) - 1)] + 1 for share in SHARES]
        self.lengths = [-(-bound // 16) * 16 for bound in bounds]
        self.rows = [max(2, tokens // length) for length in self.lengths]
        # by sequences, not by batches: a batch of short ones holds more of them
        held = [sum(low < each <= high for each in lengths) for low, high in zip((0, *self.lengths), self.lengths)]
        self.odds = torch.tensor([count / rows for count, rows in zip(held, self.rows)])

    def batch(self, step: int) -> Batch:
        """Batch `step`: sequences of each shape as often as they occur among problems."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + step)
        shape = int(torch.multinomial(self.odds, 1, generator=generator))
        low = 0 if shape == 0 else self.lengths[shape - 1]
        wanted, found, start = self.rows[shape], [], step * 10_000
        while len(found) < wanted:
            pairs = encode(self.tokenizer, wanted, seed=self.seed + 1, start=start)
            found += [pair for pair in pairs if low < len(pair[0]) + len(pair[1]) + 1 <= self.lengths[shape]]
            start += wanted
        return collate(found[:wanted], self.lengths[shape], self.eos)

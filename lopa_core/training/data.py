"""Endless batches of generated problems. Batch n is a function of the seed and n, so a resumed run sees what an uninterrupted one would."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer

from ..tasks.word_problems import problems
from .mixture import Batch
from .vocabulary import ANSWER_CUE, EOS

SHORT = 0.6  # of the two batch shapes, one holds the shortest 60 % of problems


def encode(tokenizer: Tokenizer, count: int, *, seed: int, start: int) -> list[tuple[list[int], list[int]]]:
    """`count` problems as (prompt ids, solution ids)."""
    drawn = list(problems(count, seed=seed, start=start))
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
    """Batches of about `tokens` tokens in two static shapes, short and long sequences, chosen by the seed."""

    def __init__(self, tokenizer: Tokenizer, *, tokens: int, seed: int) -> None:
        self.tokenizer, self.seed = tokenizer, seed
        self.eos = tokenizer.token_to_id(EOS)
        lengths = sorted(len(p) + len(s) + 1 for p, s in encode(tokenizer, 4000, seed=seed, start=0))
        shapes = [lengths[int(len(lengths) * SHORT)], lengths[-1] + 1]
        self.lengths = [-(-length // 16) * 16 for length in shapes]
        self.rows = [max(2, tokens // length) for length in self.lengths]
        self.shorts = sum(length <= self.lengths[0] for length in lengths) / len(lengths)

    def batch(self, step: int) -> Batch:
        """Batch `step`: short sequences as often as they occur among problems."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + step)
        # by sequences, not by batches: a short batch holds more of them
        odds = self.shorts / self.rows[0]
        rest = (1 - self.shorts) / self.rows[1]
        shape = int(torch.rand((), generator=generator) > odds / (odds + rest))
        low = 0 if shape == 0 else self.lengths[0]
        wanted, found, start = self.rows[shape], [], step * 10_000
        while len(found) < wanted:
            pairs = encode(self.tokenizer, wanted, seed=self.seed + 1, start=start)
            found += [pair for pair in pairs if low < len(pair[0]) + len(pair[1]) < self.lengths[shape]]
            start += wanted
        return collate(found[:wanted], self.lengths[shape], self.eos)

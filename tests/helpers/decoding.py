"""Running a decode to its end, and engines that need no trained model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from lopa_core.decode.loop import decode
from lopa_core.decode.observation import Observation
from lopa_core.decode.round import Outcome, Round
from lopa_core.decode.settings import DecodeSettings
from lopa_core.decode.window import PER_QUERY, Engine, Window
from lopa_core.model.encoder import TokenCache
from lopa_core.model.family import ModelConfig, parse_config
from lopa_core.runtime.local import LocalEngine
from lopa_core.trace.recorder import Unmeasured

from .models import dream_config, llada_config

MASK, EOS, VOCABULARY = 60, 59, 61
Predict = Callable[[tuple[int, ...], int], tuple[int, float, float]]


def run(prompt, engine: Engine, settings: DecodeSettings) -> tuple[list[Round], Outcome]:
    """All rounds of a decode and how it ended."""
    rounds, decoding = [], decode(prompt, engine, settings)
    while True:
        try:
            rounds.append(next(decoding))
        except StopIteration as stop:
            return rounds, stop.value


class FakeEngine(Unmeasured):
    """Predicts by a function of (all tokens that a branch sees, slot) and checks what it is asked.

    It keeps the committed prefix as tokens, the way a real engine keeps keys and values: a window that disagrees
    with what was committed, leaves a mask without an answer or asks about a decided slot fails here.
    """

    def __init__(self, predict: Predict, *, shifted: bool = True) -> None:
        self.predict = predict
        raw = dream_config(max_position_embeddings=4096) if shifted else llada_config(max_sequence_length=4096)
        self.config: ModelConfig = parse_config(raw)
        self.prefix: list[int] = []
        self.forwards: list[np.ndarray] = []  # tokens of each window
        self.kept: list[tuple[int, int]] = []  # which forward's which row was committed

    def open(self, rows: int, length: int, settings: DecodeSettings) -> None:
        self.rows, self.length, self.settings = rows, length, settings
        self.prefix, self.forwards, self.kept = [], [], []

    def forward(self, window: Window) -> Observation:
        self.window = window
        rows, width = window.tokens.shape
        assert rows <= self.rows and window.start + width <= self.length
        self.forwards.append(window.tokens)
        answers, asked = [], {row: [] for row in range(rows)}
        for query in window.queries.tolist():
            row = query // window.columns.shape[1]
            slot = window.start + int(window.columns.flat[query]) + self.config.shifted
            asked[row].append(slot)
            answers.append(self.predict(self.seen_by(row), slot))
        for row, slots in asked.items():
            self.check_asked(row, slots)
        if window.uniforms is not None:
            draws = dict(zip((slot for slots in asked.values() for slot in slots), window.uniforms))
            assert [draws[slot] for slots in asked.values() for slot in slots] == window.uniforms.tolist()  # one draw per slot
        return Observation.unpack(np.array(answers, dtype=np.float32).reshape(-1, 3).T)

    def seen_by(self, row: int) -> tuple[int, ...]:
        known, start = self.prefix[: self.window.start], self.window.start
        return (*known, *self.window.tokens[row, : self.window.ends[row] - start].tolist())

    def check_asked(self, row: int, slots: list[int]) -> None:
        seen, kept = self.seen_by(row), len(self.prefix)
        assert list(seen[:kept]) == self.prefix  # what is cached never changes
        boundary = self.config.shifted and kept > 0  # the first slot behind the cache is predicted from inside it
        refreshed = boundary and self.settings.refresh_boundary and self.settings.attention == "full"
        assert self.window.start == kept - refreshed
        first = kept + (boundary and not refreshed)  # if that row is not read again, its prediction is remembered
        assert slots == [slot for slot in range(max(first, self.window.prompt), len(seen)) if seen[slot] == MASK]

    def commit(self, row: int, start: int, end: int) -> None:
        assert start <= len(self.prefix) < end
        self.kept.append((len(self.forwards) - 1, row))
        self.prefix = list(self.seen_by(row)[:end])


class SerialEngine:
    """Branch after branch, each with a cache of its own and a window that ends where it ends: no batch, no padding."""

    def __init__(self, network) -> None:
        self.network, self.config = network, network.config

    def open(self, rows: int, length: int, settings: DecodeSettings) -> None:
        self.engines = [LocalEngine(self.network) for _ in range(rows)]
        for engine in self.engines:
            engine.open(1, length, settings)

    def forward(self, window: Window) -> Observation:
        parts = [engine.forward(self.alone(window, row)) for row, engine in enumerate(self.engines[: len(window.tokens)])]
        return Observation.join(parts)

    def alone(self, window: Window, row: int) -> Window:
        mine = window.queries // window.columns.shape[1] == row
        columns, width = window.columns.reshape(-1)[window.queries[mine]], window.ends[row] - window.start
        columns = np.where(columns < window.tokens.shape[1], columns, columns - window.tokens.shape[1] + width)  # copies follow the window
        return replace(
            window, tokens=window.tokens[row : row + 1, :width], ends=window.ends[row : row + 1],
            columns=columns[None] if len(columns) else np.zeros((1, 1), dtype=np.int64), queries=np.arange(len(columns)),
            copies=window.copies and window.copies.part(slice(row, row + 1)),
            **{name: getattr(window, name)[mine] for name in PER_QUERY if getattr(window, name) is not None},
        )  # fmt: skip

    def commit(self, row: int, start: int, end: int) -> None:
        won = self.engines[row].space.cache
        for cache in (engine.space.cache for engine in self.engines):
            cache.keys[..., start:end, :] = won.keys[..., start:end, :].clone()
            cache.values[..., start:end, :] = won.values[..., start:end, :].clone()


def scattered(seed: int, *, eos_every: int = 0) -> Predict:
    """Predictions that look random but depend on nothing but the tokens and the slot. No mask id; an end-of-text
    about once in `eos_every`."""

    def predict(tokens: tuple[int, ...], slot: int) -> tuple[int, float, float]:
        bits = hash((seed, tokens, slot)) & (2**60 - 1)  # hashes of ints are the same in every process
        token = EOS if eos_every and bits % eos_every == 0 else bits // 97 % EOS
        probability = (bits >> 12) % 1009 / 1009
        return token, probability, -((bits >> 24) % 17) / 8  # few levels: ties are common

    return predict


class FixedLogits(nn.Module):
    """A network for LocalEngine that says the same about every slot."""

    def __init__(self, logits: torch.Tensor, *, raw: dict | None = None) -> None:
        super().__init__()
        self.config = parse_config(raw or dream_config())
        self.logits, self.device, self.dtype = logits, torch.device("cpu"), torch.float32

    def new_cache(self, rows: int, length: int) -> TokenCache:
        return TokenCache(rows, length, self.device)

    def forward(self, tokens: torch.Tensor, **_: object) -> torch.Tensor:
        return torch.zeros(*tokens.shape, 1)

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.logits.repeat(len(hidden), 1)

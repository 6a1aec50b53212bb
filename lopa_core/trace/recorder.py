"""Turns a running decode into trace rounds with true timestamps, and a finished one into a Trace."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from ..decode.loop import decode
from ..decode.round import Outcome, Round
from ..decode.settings import DecodeSettings
from ..decode.window import Engine
from ..model.tokenizer import Tokenizer
from .trace import Trace, TraceBranch, TraceRound


class Recorder:
    """Runs one decode round by round. Its clock counts only the time spent in `step`.

    The engine may report `seconds_in_network`; without it the network's share is recorded as 0.
    """

    def __init__(self, prompt: Sequence[int], engine: Engine, settings: DecodeSettings) -> None:
        self.engine, self.settings, self.prompt = engine, settings, list(prompt)
        self.decoding = decode(self.prompt, engine, settings)
        self.rounds: list[TraceRound] = []
        self.tokens: list[int] = [engine.config.mask_id] * settings.slots
        self.reason = "stopped"
        self.seconds = 0.0
        self.done = False

    def step(self) -> TraceRound | None:
        """Run one more round; None once the decode has ended."""
        began = time.perf_counter()
        in_network = getattr(self.engine, "seconds_in_network", 0.0) if self.rounds else 0.0
        try:
            happened = next(self.decoding)
        except StopIteration as stop:
            self.seconds += time.perf_counter() - began
            self.finish(stop.value)
            return None
        self.seconds += time.perf_counter() - began
        spent = getattr(self.engine, "seconds_in_network", 0.0) - in_network
        self.rounds.append(flatten(happened, len(self.prompt), self.seconds, spent))
        for slot, token, _ in self.rounds[-1].committed:
            self.tokens[slot] = token
        return self.rounds[-1]

    def run(self) -> None:
        """`step` until the decode has ended."""
        while self.step():
            pass

    def finish(self, outcome: Outcome) -> None:
        self.done, self.reason, self.tokens = True, outcome.reason, list(outcome.tokens)

    def trace(self, *, model: str, decoder: str, prompt: str, tokenizer: Tokenizer | None, hardware: str) -> Trace:
        """What has happened so far."""
        config = self.engine.config
        eos = self.settings.eos(config.eos_id)
        known = self.tokens[: self.tokens.index(eos)] if eos in self.tokens else self.tokens
        text = tokenizer.decode([token for token in known if token != config.mask_id]) if tokenizer else ""
        seen = set(self.tokens) | {token for each in self.rounds for token in each.tokens}
        return Trace(
            model=model, decoder=decoder, settings=asdict(self.settings), prompt=prompt, prompt_tokens=len(self.prompt),
            eos_id=eos, mask_id=config.mask_id, rounds=tuple(self.rounds), tokens=tuple(self.tokens), reason=self.reason,
            text=text, hardware=hardware, recorded=datetime.now(UTC).isoformat(timespec="seconds"),
            pieces={token: tokenizer.piece(token) for token in sorted(seen)} if tokenizer else {},
        )  # fmt: skip


def flatten(happened: Round, prompt: int, seconds: float, network_seconds: float) -> TraceRound:
    """A round of the decode room as plain data, slots counted from the prompt's end."""
    branches = []
    for each in happened.branches:
        tried = each.tried and (each.tried.slot - prompt, each.tried.token, round(each.tried.probability, 6))
        branches.append(TraceBranch(round(each.score, 6), each.masks_left, *(tried or ())))
    return TraceRound(
        branches=tuple(branches),
        winner=happened.winner,
        slots=tuple((happened.slots - prompt).tolist()),
        tokens=tuple(happened.seen.tokens.tolist()),
        probabilities=tuple(happened.seen.probabilities.round(6).tolist()),
        filled=tuple(happened.filled.tolist()),
        start=happened.start - prompt,
        end=happened.end - prompt,
        seconds=round(seconds, 6),
        network_seconds=round(network_seconds, 6),
    )

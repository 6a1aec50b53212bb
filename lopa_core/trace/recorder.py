"""Turns a running decode into trace rounds with true timestamps, and a finished one into a Trace."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from ..decode.loop import decode
from ..decode.round import Outcome, Round, Scored
from ..decode.settings import DecodeSettings
from ..decode.window import Engine
from ..model.family import ModelConfig
from ..model.tokenizer import Tokenizer
from .trace import Trace, TraceBranch, TraceRound, TraceSeen, TraceSpan, first_end


class Tape:
    """What is known of one decode so far, wherever it runs; becomes a Trace.

    devices: names of those that run it.
    """

    def __init__(
        self, prompt: Sequence[int], settings: DecodeSettings, config: ModelConfig, devices: Sequence[str] = (),
        forced: Mapping[int, int] | None = None,
    ) -> None:  # fmt: skip
        self.prompt, self.settings, self.config = list(prompt), settings, config
        self.devices, self.forced = tuple(devices), dict(forced or {})
        self.rounds: list[TraceRound] = []
        self.tokens: list[int] = []
        self.seen = {config.mask_id}  # every token id that has occurred
        self.reason = "stopped"
        self.done = False

    @property
    def seconds(self) -> float:
        """When the last round was over, on the decode's own clock."""
        return self.rounds[-1].seconds if self.rounds else 0.0

    def add(self, happened: TraceRound) -> None:
        self.rounds.append(happened)
        self.tokens += [self.config.mask_id] * (happened.end - len(self.tokens))
        for slot, token, _ in happened.committed:
            self.tokens[slot] = token
        for slot in happened.taken:
            self.tokens[slot] = self.config.mask_id
        for branch in happened.branches:
            self.seen.update(branch.seen.tokens)

    def finish(self, outcome: Outcome) -> None:
        self.done, self.reason, self.tokens = True, outcome.reason, list(outcome.tokens)

    def trace(self, *, model: str, decoder: str, prompt: str, tokenizer: Tokenizer | None, hardware: str) -> Trace:
        """What has happened so far."""
        ends = self.settings.ends(self.config)
        return Trace(
            model=model, decoder=decoder, settings=asdict(self.settings), prompt=prompt, prompt_tokens=len(self.prompt),
            end_ids=tuple(sorted(ends)), mask_id=self.config.mask_id, rounds=tuple(self.rounds), tokens=tuple(self.tokens),
            reason=self.reason, hardware=hardware, recorded=datetime.now(UTC).isoformat(timespec="seconds"),
            devices=self.devices, forced=tuple(sorted(self.forced.items())),
            **(self.words(tokenizer, ends) if tokenizer else {"text": ""}),
        )  # fmt: skip

    def words(self, tokenizer: Tokenizer, ends: Collection[int]) -> dict[str, Any]:
        """What of a trace needs a tokenizer."""
        mask = self.config.mask_id
        known = self.tokens[: first_end(self.tokens, ends)]
        return {
            "text": tokenizer.decode([token for token in known if token != mask]),
            "texts": tuple(tokenizer.texts(self.tokens, gaps=(mask,))),
            "pieces": {token: tokenizer.piece(token) for token in sorted(self.seen)},
            "special": tuple(sorted(self.seen & tokenizer.special)),
        }


class Measured(Engine, Protocol):
    """An engine that tells of its work. One with nothing to tell says so: it inherits from Unmeasured.

    devices: names of those that run it, none for no lanes of devices. clock: seconds of all forwards, where ranks have to
    agree on it, else None. seconds_in_network: of all forwards; spans: when the last one's rows were worked on.
    """

    devices: Sequence[str]
    clock: float | None
    seconds_in_network: float
    spans: Sequence[TraceSpan]


class Unmeasured:
    """What an engine tells that measures nothing: the network's share is recorded as 0."""

    devices: Sequence[str] = ()
    clock: float | None = None
    seconds_in_network = 0.0
    spans: Sequence[TraceSpan] = ()


class Recorder(Tape):
    """Runs one decode round by round. Its clock counts only the time spent in `step`."""

    def __init__(self, prompt: Sequence[int], engine: Measured, settings: DecodeSettings, forced: Mapping[int, int] | None = None) -> None:
        super().__init__(prompt, settings, engine.config, engine.devices, forced)
        self.engine = engine
        self.decoding = decode(self.prompt, engine, settings, self.forced)
        self.clock = 0.0

    @property
    def pace(self) -> float:
        """What lanes are kept side by side by: the engine's clock where ranks have to agree on it, else the own one."""
        if not self.rounds:
            return 0.0  # an engine may have had a warm-up
        return self.clock if self.engine.clock is None else self.engine.clock

    def step(self) -> TraceRound | None:
        """Run one more round; None once the decode has ended."""
        own, began = self.clock, time.perf_counter()
        in_network = self.engine.seconds_in_network if self.rounds else 0.0
        try:
            happened = next(self.decoding)
        except StopIteration as stop:
            self.finish(stop.value)
            return None
        self.clock = own + time.perf_counter() - began
        spent = self.engine.seconds_in_network - in_network
        spans = [own_time(span, own - began) for span in self.engine.spans]
        self.add(flatten(happened, len(self.prompt), self.clock, spent, spans))
        return self.rounds[-1]

    def run(self) -> None:
        """Run until the decode has ended."""
        while self.step():
            pass


def own_time(span: TraceSpan, shift: float) -> TraceSpan:
    """A span of the engine's clock on the decode's own."""
    return replace(span, start=round(span.start + shift, 6), end=round(span.end + shift, 6))


def flatten(happened: Round, prompt: int, seconds: float, network_seconds: float, spans: Sequence[TraceSpan] = ()) -> TraceRound:
    """A round of the decode room as plain data, slots counted from the prompt's end."""
    return TraceRound(
        branches=tuple(flat_branch(each, prompt) for each in happened.branches),
        winner=happened.winner,
        filled=tuple(happened.filled.tolist()),
        start=happened.start - prompt,
        end=happened.end - prompt,
        seconds=round(seconds, 6),
        network_seconds=round(network_seconds, 6),
        spans=tuple(spans),
        taken=tuple((happened.taken - prompt).tolist()),
        copies=happened.copies,
    )


def flat_branch(each: Scored, prompt: int) -> TraceBranch:
    tried, *more = [(one.slot - prompt, one.token, round(one.probability, 4)) for one in (each.tried, *each.more) if one] or [()]
    # of a float64, which prints the four digits it is rounded to
    probabilities = each.seen.probabilities.astype(float).round(4).tolist()
    seen = TraceSeen(tuple((each.slots - prompt).tolist()), tuple(each.seen.tokens.tolist()), tuple(probabilities))
    return TraceBranch(round(each.score, 6), each.masks_left, seen, *tried, **({"more": tuple(more)} if more else {}))

"""Turns a running decode into trace rounds with true timestamps, and a finished one into a Trace."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from ..decode.loop import decode
from ..decode.round import Outcome, Round, Scored
from ..decode.settings import DecodeSettings
from ..decode.window import Engine
from ..model.tokenizer import Tokenizer
from .trace import Trace, TraceBranch, TraceRound, TraceSeen, TraceSpan


class Recorder:
    """Runs one decode round by round. Its clock counts only the time spent in `step`.

    The engine may report `seconds_in_network` and the last forward's `spans`; without them the network's share is
    recorded as 0 and no device lane is.
    """

    def __init__(self, prompt: Sequence[int], engine: Engine, settings: DecodeSettings, forced: Mapping[int, int] | None = None) -> None:
        self.engine, self.settings, self.prompt, self.forced = engine, settings, list(prompt), dict(forced or {})
        self.decoding = decode(self.prompt, engine, settings, self.forced)
        self.rounds: list[TraceRound] = []
        self.tokens: list[int] = []
        self.reason = "stopped"
        self.seconds = 0.0
        self.done = False

    def step(self) -> TraceRound | None:
        """Run one more round; None once the decode has ended."""
        own, began = self.seconds, time.perf_counter()
        in_network = getattr(self.engine, "seconds_in_network", 0.0) if self.rounds else 0.0
        try:
            happened = next(self.decoding)
        except StopIteration as stop:
            self.seconds += time.perf_counter() - began
            self.finish(stop.value)
            return None
        self.seconds += time.perf_counter() - began
        spent = getattr(self.engine, "seconds_in_network", 0.0) - in_network
        spans = [own_time(span, own - began) for span in getattr(self.engine, "spans", ())]
        self.rounds.append(flatten(happened, len(self.prompt), self.seconds, spent, spans))
        self.tokens += [self.engine.config.mask_id] * (self.rounds[-1].end - len(self.tokens))
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
        return Trace(
            model=model, decoder=decoder, settings=asdict(self.settings), prompt=prompt, prompt_tokens=len(self.prompt),
            eos_id=eos, mask_id=config.mask_id, rounds=tuple(self.rounds), tokens=tuple(self.tokens), reason=self.reason,
            hardware=hardware, recorded=datetime.now(UTC).isoformat(timespec="seconds"),
            devices=tuple(getattr(self.engine, "devices", ())), forced=tuple(sorted(self.forced.items())),
            **(self.words(tokenizer, eos) if tokenizer else {"text": ""}),
        )  # fmt: skip

    def words(self, tokenizer: Tokenizer, eos: int | None) -> dict[str, Any]:
        """What of a trace needs a tokenizer."""
        mask = self.engine.config.mask_id
        known = self.tokens[: self.tokens.index(eos)] if eos in self.tokens else self.tokens
        seen = set(self.tokens) | {token for each in self.rounds for branch in each.branches for token in branch.seen.tokens}
        return {
            "text": tokenizer.decode([token for token in known if token != mask]),
            "texts": tuple(tokenizer.texts(self.tokens, gaps=(mask,))),
            "pieces": {token: tokenizer.piece(token) for token in sorted(seen)},
            "special": tuple(sorted(seen & tokenizer.special)),
        }


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
    )


def flat_branch(each: Scored, prompt: int) -> TraceBranch:
    tried = each.tried and (each.tried.slot - prompt, each.tried.token, round(each.tried.probability, 4))
    # of a float64, which prints the four digits it is rounded to
    probabilities = each.seen.probabilities.astype(float).round(4).tolist()
    seen = TraceSeen(tuple((each.slots - prompt).tolist()), tuple(each.seen.tokens.tolist()), tuple(probabilities))
    return TraceBranch(round(each.score, 6), each.masks_left, seen, *(tried or ()))

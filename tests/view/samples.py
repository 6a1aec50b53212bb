"""What the tests of figures and score-card share: real traces of a conformance checkpoint, and changed ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import torch

from lopa_core.decode.settings import DecodeSettings
from lopa_core.runtime.local import LocalEngine
from lopa_core.trace.recorder import Recorder
from lopa_core.trace.trace import Trace, TraceRound
from tests.helpers.models import conformance_network
from tests.helpers.traces import PROMPT, recorded

SMALL = DecodeSettings(max_new_tokens=32, block_size=16, lookahead=4, tau_conf=0.9)  # LoPA needs half the rounds here
LARGE = DecodeSettings(max_new_tokens=512, block_size=32, lookahead=8, tau_conf=0.9, stop_at_eos=False)
PIECES = {token: f" t{token}" for token in range(512)}


@cache
def pair(steps: int = 1000) -> tuple[Trace, Trace]:
    """Baseline and LoPA on one prompt, up to `steps` rounds each; every token has a piece."""
    traces = recorded(SMALL.decoder("confidence"), decoder="confidence", steps=steps), recorded(SMALL, decoder="lopa", steps=steps)
    return tuple(replace(trace, pieces=PIECES) for trace in traces)


@cache
def trio() -> tuple[Trace, Trace, Trace]:
    """`pair`, and what LoPA would have done had the next branch won its second round that had a choice."""
    lopa = pair()[1]
    place = [number for number, each in enumerate(lopa.rounds) if len(each.branches) > 1][1]
    return *pair(), what_if({place: (lopa.rounds[place].winner + 1) % len(lopa.rounds[place].branches)})


def what_if(forced: Mapping[int, int]) -> Trace:
    recorder = Recorder(PROMPT, LocalEngine(conformance_network("dream-a", dtype=torch.float32)), SMALL, forced)
    recorder.run()
    trace = recorder.trace(model="dream-a", decoder="lopa", prompt="", tokenizer=None, hardware="test")
    return replace(trace, pieces=PIECES)


@cache
def large() -> tuple[Trace, Trace]:
    """512 tokens, 8 lookaheads, over 150 rounds of LoPA and many more of the baseline."""
    traces = recorded(LARGE.decoder("confidence"), decoder="confidence"), recorded(LARGE)
    return tuple(replace(trace, pieces=PIECES) for trace in traces)


def version1(trace: Trace) -> Trace:
    """As an old file would have it: losers without predictions, no device times."""
    return replace(trace, rounds=tuple(forgotten(each) for each in trace.rounds))


def forgotten(each: TraceRound) -> TraceRound:
    branches = (branch if index == each.winner else replace(branch, seen=None) for index, branch in enumerate(each.branches))
    return replace(each, branches=tuple(branches), spans=())


def on_devices(trace: Trace, count: int) -> Trace:
    """Every row on a device of its own, in turn; the last of `count` devices takes twice as long as the others."""
    rounds = []
    for each in trace.rounds:
        (span,) = each.spans
        length = (span.end - span.start) / 2
        rows = {device: span.rows[device::count] for device in range(count)}
        spans = [
            replace(span, device=device, rows=own, end=span.start + length * (2 if device == count - 1 else 1))
            for device, own in rows.items()
            if own
        ]
        rounds.append(replace(each, spans=tuple(spans)))
    return replace(trace, rounds=tuple(rounds), devices=tuple(f"cuda:{index} <GPU>" for index in range(count)))

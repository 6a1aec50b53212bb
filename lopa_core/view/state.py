"""A race, or recorded traces, as the one JSON value that the viewer draws (assets/viewer).

The value only grows while a race runs, and Gradio sends what was added since the last one. Rounds and figures are
JSON texts inside it, so that finding the difference costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import orjson

from ..tasks.problem import Problem
from ..trace.metrics import progress
from ..trace.plain import round_data
from ..trace.trace import Trace, TraceRound
from .figures import figures
from .lanes import Lane, lanes, score_words
from .scorecard import scorecard

RUNNING, FINISHED, STOPPED = "running", "finished", "stopped"
# parts of a lane that are not in its head
APART = {"decoder", "reason", "end_ids", "mask_id", "special", "forced", "rounds", "tokens", "texts", "pieces"}
NO_MODEL = "A recording cannot be decoded on from: open it on a page that has its model."


@dataclass(frozen=True, kw_only=True, slots=True)
class About:
    """What the viewer says of a state as a whole.

    run: its id, anew for every run; source: what it is, in words; live: whether it was decoded for this visitor just
    now; what_if: why no other future can be decoded here, "" where it can.
    """

    run: str
    source: str
    live: bool = False
    what_if: str = NO_MODEL


def snapshot(
    about: About, traces: Sequence[Trace], *, status: str, ended: Sequence[bool], rounds: Sequence[Sequence[str]],
    figures: dict[str, str], card: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The state of a race. ended: which lanes have; rounds: `round_text` of all rounds, per lane."""
    told = [lane_state(lane, FINISHED if over else status, texts) for lane, over, texts in zip(lanes(traces), ended, rounds)]
    source = {"kind": "live" if about.live else "recorded", "text": about.source}
    return {
        "run": about.run, "status": status, "source": source, "what_if": about.what_if, "prompt": traces[0].prompt,
        "lanes": told, "card": card, "figures": figures,
    }  # fmt: skip


def loaded(about: About, traces: Sequence[Trace], known: Problem | None = None) -> dict[str, Any]:
    """The state of traces that are whole: a finished race or a file."""
    ended = [trace.reason != "stopped" for trace in traces]
    return snapshot(
        about, traces, status=FINISHED if all(ended) else STOPPED, ended=ended,
        rounds=[[round_text(each) for each in trace.rounds] for trace in traces],
        figures=draw(traces), card=scorecard(traces, known),
    )  # fmt: skip


def lane_state(lane: Lane, status: str, rounds: Sequence[str]) -> dict[str, Any]:
    """One trace with what its lane shows besides: its counters after every round."""
    trace = lane.trace
    head = {each.name: getattr(trace, each.name) for each in fields(Trace) if each.name not in APART}
    return {
        "decoder": trace.decoder, "title": lane.title, "role": lane.role, "status": status, "reason": trace.reason,
        "head": head | {"devices": list(trace.devices)},
        "slots": trace.slots, "block_size": trace.settings["block_size"], "end_ids": list(trace.end_ids), "mask_id": trace.mask_id,
        "special": list(trace.special), "forced": [list(each) for each in trace.forced],
        "score": list(score_words(trace)), "rounds": list(rounds), "counts": [list(each) for each in progress(trace)],
        "tokens": list(trace.tokens), "texts": list(trace.texts),
        "pieces": {str(token): text for token, text in trace.pieces.items()},
    }  # fmt: skip


def round_text(each: TraceRound) -> str:
    """One round in the trace format, as JSON text."""
    return orjson.dumps(round_data(each)).decode()


def draw(traces: Sequence[Trace]) -> dict[str, str]:
    """All figures as JSON texts by name."""
    return {name: orjson.dumps(each).decode() for name, each in figures(traces).items()}


def recorded(run: str, traces: Sequence[Trace], what_if: str = NO_MODEL) -> About:
    """About traces that come from a file."""
    first = traces[0]
    return About(run=run, source=f"Recorded {day(first.recorded)}on {first.hardware}, model {first.model}", what_if=what_if)


def day(recorded: str) -> str:
    """The day of an ISO time in words with a blank behind it, "" if it is none: a file may say anything."""
    try:
        when = datetime.fromisoformat(recorded)
    except ValueError:
        return ""
    return f"{when.day} {when:%B %Y} "

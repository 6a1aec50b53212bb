"""A race, or recorded traces, as the JSON value that viewer.js draws.

The value only grows while a race runs, and Gradio sends what was added since the last one. Rounds and figures are
JSON texts inside it, so that finding the difference costs next to nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..tasks.word_problems import Problem
from ..trace.metrics import measure
from ..trace.trace import Trace, TraceRound
from .charts import TITLES, tokens_figure, tokens_summary, tokens_table
from .scorecard import scorecard
from .tree import tree_figure, tree_summary, tree_table

RUNNING, FINISHED, STOPPED = "running", "finished", "stopped"


def snapshot(
    run: str, traces: Sequence[Trace], *, status: str, ended: Sequence[bool], rounds: Sequence[Sequence[str]],
    figures: dict[str, str], card: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The state of a race. run: its id; ended: which lanes have; rounds: `round_text` of all rounds, per lane."""
    lanes = [lane(trace, FINISHED if over else status, texts) for trace, over, texts in zip(traces, ended, rounds)]
    return {"run": run, "status": status, "prompt": traces[0].prompt, "traces": lanes, "card": card, "figures": figures}


def loaded(run: str, traces: Sequence[Trace], known: Problem | None = None) -> dict[str, Any]:
    """The state of traces that are whole: a finished race or a file. traces: baseline, LoPA."""
    ended = [trace.reason != "stopped" for trace in traces]
    return snapshot(
        run, traces, status=FINISHED if all(ended) else STOPPED, ended=ended,
        rounds=[[round_text(each) for each in trace.rounds] for trace in traces],
        figures=draw(traces), card=scorecard(traces, known),
    )  # fmt: skip


def lane(trace: Trace, status: str, rounds: Sequence[str]) -> dict[str, Any]:
    """One trace with what its lane shows besides; model and hardware are the score-card's business."""
    counted = measure(trace)
    counters = {"rounds": counted.rounds, "tokens": counted.tokens, "tpf": round(counted.tpf, 2), "seconds": round(counted.seconds, 2)}
    size = int(trace.settings["block_size"])
    return {
        "decoder": trace.decoder, "title": TITLES[trace.decoder], "status": status, "reason": trace.reason, "counters": counters,
        "slots": int(trace.settings["max_new_tokens"]) // size * size, "block_size": size,
        "eos_id": trace.eos_id, "rounds": list(rounds), "pieces": {str(token): text for token, text in trace.pieces.items()},
    }  # fmt: skip


def round_text(each: TraceRound) -> str:
    """One round in the trace format, as JSON text."""
    return json.dumps(asdict(each), separators=(",", ":"))


def draw(traces: Sequence[Trace]) -> dict[str, str]:
    """Both figures with their text alternatives, as JSON texts by name."""
    tokens = tokens_figure(traces) | {"summary": tokens_summary(traces), "table": tokens_table(traces)}
    last = traces[-1]
    tree = tree_figure(last) | {"summary": tree_summary(last), "table": tree_table(last)}
    return {"tokens": json.dumps(tokens, separators=(",", ":")), "tree": json.dumps(tree, separators=(",", ":"))}

"""The score-card: the numbers of both decoders side by side as plain data; viewer.js sets them as a table.

Numbers are trace.metrics'; this module only words them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tasks.word_problems import Problem, is_correct, parse_answer
from ..trace import metrics
from ..trace.metrics import Metrics, measure
from ..trace.trace import Trace
from .charts import TITLES

LABELS = {
    "rounds": "Forward passes", "branch_forwards": "Branch-forwards", "tokens": "Tokens", "slots_written": "Slots written",
    "tpf": "Tokens per forward pass (TPF)", "seconds": "Seconds", "tokens_per_second": "Tokens per second",
    "network_share": "Time in the network",
}  # fmt: skip
QUOTED = 28  # characters shown on either side of the place where two texts part


def scorecard(traces: Sequence[Trace], known: Problem | None) -> dict[str, Any]:
    """Headline, table, agreement, the remark on hardware, and the definitions. traces: baseline, LoPA."""
    measured = [measure(trace) for trace in traces]
    return {
        "headline": headline(traces, measured),
        "columns": [TITLES[trace.decoder] for trace in traces],
        "rows": rows(measured) + answers(traces, known),
        "agreement": agreement(traces),
        "remark": remark(traces[-1].hardware, measured[-1]),
        "definitions": definitions(),
    }


def headline(traces: Sequence[Trace], measured: Sequence[Metrics]) -> str:
    """The result in a sentence."""
    if any(trace.reason == "stopped" for trace in traces):
        return "Stopped before both decoders had ended; these are the numbers so far."
    title = TITLES[traces[0].decoder]
    base, lopa = (each.rounds for each in measured)
    if base == lopa:
        return f"Both decoders needed {base} forward passes."
    if base > lopa:
        return f"LoPA needed {lopa} forward passes, {title.lower()} {base}: {base / lopa:.1f} times as many."
    return f"LoPA needed {lopa} forward passes, more than the {base} of {title.lower()}."


def rows(measured: Sequence[Metrics]) -> list[dict[str, Any]]:
    """The measured lines. better: which column wins, None where more or less is no merit."""
    forms = {
        "rounds": ("{:d}", min), "branch_forwards": ("{:d}", None), "tokens": ("{:d}", None), "tpf": ("{:.2f}", max),
        "seconds": ("{:.2f}", min), "tokens_per_second": ("{:.0f}", max), "network_share": ("{:.0%}", None),
    }  # fmt: skip
    return [row(LABELS[name], [getattr(each, name) for each in measured], *form) for name, form in forms.items()]


def row(label: str, values: Sequence[float], form: str, best: Any) -> dict[str, Any]:
    texts = [form.format(value) for value in values]
    even = best is None or len(set(texts)) == 1
    return {"label": label, "values": texts, "better": None if even else values.index(best(values))}


def answers(traces: Sequence[Trace], known: Problem | None) -> list[dict[str, Any]]:
    """The answer line, where there is one to show; a mark tells whether it is right."""
    found = [parse_answer(trace.text) for trace in traces]
    if known is None and found == [None] * len(traces):
        return []
    texts = ["none" if answer is None else str(answer) for answer in found]
    if known:
        texts = [f"{text}  {mark(trace, known)}" for text, trace in zip(texts, traces)]
    return [{"label": "Answer", "values": texts, "better": None}]


def mark(trace: Trace, known: Problem) -> str:
    if trace.reason == "stopped":
        return "unfinished"
    return "✓ right" if is_correct(trace.text, known) else f"✗ wrong, it is {known.answer}"


def agreement(traces: Sequence[Trace]) -> str:
    """Whether both wrote the same text, and where they part."""
    if any(trace.reason == "stopped" for trace in traces):
        return "Not both had ended, so their texts are not compared."
    if not any(trace.text for trace in traces):  # a model without a tokenizer
        return "Both wrote the same tokens." if traces[0].ids == traces[1].ids else "The tokens differ."
    left, right = (trace.text.strip() for trace in traces)
    if left == right:
        return "Both wrote the same text."
    shared = next((i for i, (a, b) in enumerate(zip(left, right)) if a != b), min(len(left), len(right)))
    start = left.rfind(" ", 0, shared) + 1  # quote whole words
    before = left[max(0, start - QUOTED) : start].partition(" ")[2].strip() if start > QUOTED else left[:start].strip()
    here = f"After “{'…' if start > QUOTED else ''}{before}”" if before else "From the start"
    return f"The texts differ. {here} one goes on “{quote(left[start:])}” and the other “{quote(right[start:])}”."


def quote(text: str) -> str:
    if not text:
        return "(nothing)"
    flat = text.replace("\n", "↵")
    return flat if len(flat) <= QUOTED else flat[:QUOTED] + "…"


def remark(hardware: str, lopa: Metrics) -> str:
    """What the seconds here do and do not say."""
    rows_per_pass = lopa.branch_forwards / lopa.rounds if lopa.rounds else 1
    return (
        f"Measured on {hardware}, where all branches of a pass share one device (LoPA: {rows_per_pass:.1f} rows a pass), "
        "so seconds need not follow forward passes; with branch parallelism each branch would run on a device of its own."
    )


def definitions() -> list[list[str]]:
    """(label, meaning) of every number."""
    return [[label, metrics.DEFINITIONS[name]] for name, label in LABELS.items()]

"""The score-card: the numbers of all lanes side by side as plain data, and in a few sentences what they mean.

Numbers are trace.metrics'; this module only words them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tasks.problem import Problem, is_correct, parse_answer
from ..trace import metrics
from ..trace.metrics import Metrics, measure
from ..trace.trace import Trace
from .agreement import agreement
from .lanes import Lane, lanes, looks_ahead, pair

LABELS = {
    "rounds": "Forward passes", "branch_forwards": "Branch-forwards", "tokens": "Tokens", "slots_written": "Slots written",
    "tpf": "Tokens per forward pass (TPF)", "seconds": "Seconds", "tokens_per_second": "Tokens per second",
    "network_share": "Time in the network", "extra_tokens": "Superposed tokens", "taken_back": "Tokens taken back",
}  # fmt: skip
# how a number is written, and which is better; None where more or less is no merit
FORMS: dict[str, tuple[str, Callable | None]] = {
    "rounds": ("{:d}", min), "branch_forwards": ("{:d}", None), "tokens": ("{:d}", None), "tpf": ("{:.2f}", max),
    "seconds": ("{:.2f}", min), "tokens_per_second": ("{:.0f}", max), "network_share": ("{:.0%}", None),
    "extra_tokens": ("{:d}", None), "taken_back": ("{:d}", None),
}  # fmt: skip
RARE = ("extra_tokens", "taken_back")  # shown only where there are any
COMMON = ("vanilla", "confidence", "entropy-bound")  # decoders whose titles are plain words; the others' are names


def scorecard(traces: Sequence[Trace], known: Problem | None) -> dict[str, Any]:
    """Headline, table, agreement, the remark on hardware, and the definitions."""
    shown = lanes(traces)
    return {
        "headline": headline(shown),
        "columns": [lane.title for lane in shown],
        "roles": [lane.role for lane in shown],
        "rows": rows(shown) + answers(traces, known),
        "agreement": agreement(shown),
        "remark": remark(shown),
        "definitions": definitions(),
    }


def headline(shown: Sequence[Lane]) -> str:
    """The result in a sentence: the baseline against LoPA."""
    base, own = pair(shown)
    if any(lane.trace.reason == "stopped" for lane in (base, own)):
        who = own.title if base is own else "both decoders" if len(shown) == 2 else "all decoders"
        return f"Stopped before {who} had ended; these are the numbers so far."
    few, many = (measure(lane.trace).rounds for lane in (own, base))
    if base is own:
        return f"{own.title} needed {few} forward passes."
    if few == many:
        return f"{'Both decoders' if len(shown) == 2 else f'{own.title} and {inside(base)}'} needed {few} forward passes."
    if few < many:
        return f"{own.title} needed {few} forward passes, {inside(base)} {many}: {many / max(1, few):.1f} times as many."
    return f"{own.title} needed {few} forward passes, more than the {many} of {inside(base)}."


def inside(lane: Lane) -> str:
    """The title within a sentence."""
    return lane.title[0].lower() + lane.title[1:] if lane.trace.decoder in COMMON else lane.title


def rows(shown: Sequence[Lane]) -> list[dict[str, Any]]:
    """The measured lines. Only lanes that have ended can be better than others."""
    measured = [measure(lane.trace) for lane in shown]
    forms = {name: form for name, form in FORMS.items() if name not in RARE or any(getattr(each, name) for each in measured)}
    ended = [lane.index for lane in shown if lane.trace.reason != "stopped"]
    return [row(LABELS[name], [getattr(each, name) for each in measured], ended, *form) for name, form in forms.items()]


def row(label: str, values: Sequence[float], ended: Sequence[int], form: str, best: Callable | None) -> dict[str, Any]:
    """better: the column that is ahead, the first where some are level; None where all are."""
    texts = [form.format(value) for value in values]
    even = best is None or len({texts[index] for index in ended}) < 2
    return {"label": label, "values": texts, "better": None if even else best(ended, key=lambda index: values[index])}


def answers(traces: Sequence[Trace], known: Problem | None) -> list[dict[str, Any]]:
    """The answer line, where there is one to show; a mark tells whether it is right."""
    found = [parse_answer(trace.text) for trace in traces]
    if known is None and found == [None] * len(traces):
        return []
    texts = ["none" if answer is None else answer for answer in found]
    if known:
        texts = [f"{text}  {mark(trace, known)}" for text, trace in zip(texts, traces)]
    return [{"label": "Answer", "values": texts, "better": None}]


def mark(trace: Trace, known: Problem) -> str:
    if trace.reason == "stopped":
        return "unfinished"
    return "✓ right" if is_correct(trace.text, known) else f"✗ wrong, it is {known.answer}"


def remark(shown: Sequence[Lane]) -> str:
    """What the seconds here do and do not say."""
    own = pair(shown)[1]
    trace = own.trace
    on = f"Measured on {' and '.join(dict.fromkeys(lane.trace.hardware or 'a machine without a name' for lane in shown))}"
    if not looks_ahead(trace):
        return f"{on}."
    width = f"{own.title}: {rows_per_pass(measure(trace)):.1f} rows a pass"
    used = len({span.device for each in trace.rounds for span in each.spans})
    if used > 1:
        return (
            f"{on}, where the branches of a pass ran on {used} devices side by side ({width}), so a pass takes as long as its slowest "
            "device; the devices' figure shows how evenly they were at work."
        )
    whole = trace.settings.get("attention") == "block_causal" and trace.settings.get("reach", "window") == "window"
    cheaper = " With the setting reach masks, a branch costs less here." if whole else ""
    return (
        f"{on}, where all branches of a pass share one device ({width}), so seconds need not follow forward passes; with branch "
        f"parallelism each branch would run on a device of its own.{cheaper}"
    )


def rows_per_pass(numbers: Metrics) -> float:
    return numbers.branch_forwards / numbers.rounds if numbers.rounds else 1.0


def definitions() -> list[list[str]]:
    """(label, meaning) of every number."""
    return [[label, metrics.DEFINITIONS[name]] for name, label in LABELS.items()]

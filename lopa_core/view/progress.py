"""Tokens written so far, a line per lane: against forward passes, and against seconds."""

from __future__ import annotations

from collections.abc import Sequence

from ..trace import metrics
from ..trace.trace import Trace
from .axes import named, passes, step
from .figure import Figure, Plain, cursor, figure, plot, sentences
from .lanes import Lane, lanes

# by place, so that lines of one role differ too
DASHES = ("dash", "solid", "dot", "dashdot", "longdash", "longdashdot", "solid", "dash")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "triangle-down", "cross", "x", "star")
HEIGHT, MARKS = 340, 24  # px; markers a line shows at most
Told = list[tuple[int, float]]  # (tokens, seconds) after every pass


def progress_figure(traces: Sequence[Trace]) -> Figure:
    """The same lines twice: which of them is drawn depends on the clock that the viewer follows."""
    shown = lanes(traces)
    told = [metrics.progress(trace) for trace in traces]
    return figure(
        "Tokens written so far",
        "The steeper a line, the faster its decoder: how many tokens of the text stand after each forward pass, or each second.",
        summary(shown, told), table(shown, told), **{"pass": against_passes(shown, told), "time": against_seconds(shown, told)},
    )  # fmt: skip


def against_passes(shown: Sequence[Lane], told: Sequence[Told]) -> Plain:
    """Every line starts at pass 0 with no token."""
    longest = max(1, *map(len, told)) if told else 1
    data = [
        line(lane, list(range(len(each) + 1)), [0, *(tokens for tokens, _ in each)], "pass %{x}: %{y} tokens")
        for lane, each in zip(shown, told)
    ]
    x = passes(longest) | {"range": [0, longest * 1.02]}
    return plot(data, {"xaxis": x, "yaxis": tokens_axis(told)}, [cursor(None, "pass")], height=HEIGHT)


def against_seconds(shown: Sequence[Lane], told: Sequence[Told]) -> Plain:
    """Each lane's seconds are on its own clock."""
    longest = max([0.01, *(seconds for each in told for _, seconds in each)])
    data = [
        line(lane, [0, *(seconds for _, seconds in each)], [0, *(tokens for tokens, _ in each)], "%{x:.3f} s: %{y} tokens")
        for lane, each in zip(shown, told)
    ]
    x = {"title": named("seconds"), "range": [0, longest * 1.02], "nticks": 7, "zeroline": False}
    return plot(data, {"xaxis": x, "yaxis": tokens_axis(told)}, [cursor(None, "seconds")], height=HEIGHT)


def line(lane: Lane, x: list[float], y: list[int], hover: str) -> Plain:
    """A lane's line, told apart by colour, dash and marker."""
    return {
        "type": "scatter", "mode": "lines+markers", "name": lane.label, "x": x, "y": y, "showlegend": True,
        "line": {"color": lane.accent, "width": 2.5, "dash": DASHES[lane.index % len(DASHES)]},
        "marker": {"symbol": SYMBOLS[lane.index % len(SYMBOLS)], "size": 7, "color": lane.accent, "maxdisplayed": MARKS},
        "hovertemplate": f"{hover}<extra>%{{fullData.name}}</extra>",
    }  # fmt: skip


def tokens_axis(told: Sequence[Told]) -> Plain:
    most = max([1, *(tokens for each in told for tokens, _ in each)])
    return {"title": named("tokens"), "range": [0, most * 1.06], "tick0": 0, "dtick": step(most, 6), "zeroline": False}


def summary(shown: Sequence[Lane], told: Sequence[Told]) -> str:
    parts = []
    for lane, each in zip(shown, told):
        tokens, seconds = each[-1] if each else (0, 0.0)
        parts.append(f"{lane.title}: {tokens} tokens after {len(each)} forward passes and {seconds:.2f} seconds.")
    return sentences(parts)


def table(shown: Sequence[Lane], told: Sequence[Told]) -> Plain:
    """One row per forward pass."""
    rows = []
    for index in range(max(map(len, told), default=0)):
        cells = [[str(each[index][0]), f"{each[index][1]:.3f}"] if index < len(each) else ["", ""] for each in told]
        rows.append([str(index + 1), *(text for pair in cells for text in pair)])
    return {"head": ["Forward pass", *(f"{lane.title}: {what}" for lane in shown for what in ("tokens", "seconds"))], "rows": rows}

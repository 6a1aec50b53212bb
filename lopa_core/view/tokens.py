"""Tokens committed in each forward pass: a panel of bars per lane, what a lookahead brought stacked on top."""

from __future__ import annotations

from collections.abc import Sequence

from ..trace.trace import Trace
from .axes import axis, named, panel_title, passes, stacked, step
from .figure import Figure, Plain, cursor, figure, plot, sentences
from .lanes import Lane, lanes, looks_ahead

BROUGHT = "brought by a lookahead"
DENSE = 70  # passes from which on bars are too thin for an outline


def tokens_figure(traces: Sequence[Trace]) -> Figure:
    """Bars on common axes, so that a short panel is a quick decoder."""
    shown = lanes(traces)
    counts = [committed_per_pass(trace) for trace in traces]
    return figure(
        "Tokens committed in each forward pass",
        "A bar per forward pass, as high as the tokens it wrote; the hatched part is what a lookahead brought along.",
        summary(shown, counts), table(shown, counts), **{"pass": bars_plot(shown, counts)},
    )  # fmt: skip


def committed_per_pass(trace: Trace) -> list[tuple[int, int]]:
    """(tokens filled, tokens brought by the winning lookahead) of every forward pass."""
    return [(len(each.filled), each.brought_count) for each in trace.rounds]


def bars_plot(shown: Sequence[Lane], counts: Sequence[list[tuple[int, int]]]) -> Plain:
    longest = max([1, *map(len, counts)])
    highest = max([1, *(filled + brought for each in counts for filled, brought in each)])
    height = 340 if len(shown) < 3 else 120 * len(shown) + 60
    last = axis(len(shown) - 1, "y")
    axes: Plain = {"xaxis": passes(longest) | {"anchor": last}, "annotations": []}
    data: list[Plain] = []
    first = next((lane.index for lane in shown if looks_ahead(lane.trace)), None)  # one entry in the legend is enough
    for lane, each, domain in zip(shown, counts, stacked([1] * len(shown), height)):
        y = axis(lane.index, "y")
        data += bars(lane, each, y, longest > DENSE, lane.index == first)
        axes[axis(lane.index, "yaxis")] = {
            "title": named("tokens"), "domain": domain, "range": [0, highest * 1.06], "tick0": 0, "dtick": step(highest, 4),
        }  # fmt: skip
        axes["annotations"].append(panel_title(lane, "x", y))
    cursors = [cursor(lane.index, "pass", y=axis(lane.index, "y")) for lane in shown]
    return plot(data, axes, cursors, height=height, barmode="stack", bargap=0.18)


def bars(lane: Lane, counts: list[tuple[int, int]], y: str, dense: bool, legend: bool) -> list[Plain]:
    """The stacked bars of one lane: tokens over the threshold, and the tokens lookaheads brought."""
    hover = "pass %{x}: %{y} %{fullData.name}<extra></extra>"
    common = {"type": "bar", "x": list(range(1, len(counts) + 1)), "yaxis": y, "hovertemplate": hover}
    filled = {"name": "filled", "y": [filled for filled, _ in counts], "marker": {"color": lane.accent}, "showlegend": False}
    if not looks_ahead(lane.trace):
        return [common | filled]
    pattern = {"shape": "/", "size": 5, "solidity": 0.4, "fgcolor": lane.accent, "bgcolor": "rgba(128,138,152,0.12)"}
    marker = {"color": lane.accent, "pattern": pattern, "line": {"color": lane.accent, "width": 0 if dense else 1}}
    brought = {"name": BROUGHT, "y": [brought for _, brought in counts], "marker": marker, "showlegend": legend}
    return [common | filled, common | brought]


def summary(shown: Sequence[Lane], counts: Sequence[list[tuple[int, int]]]) -> str:
    parts = []
    for lane, each in zip(shown, counts):
        most = max([filled + brought for filled, brought in each], default=0)
        brought = sum(brought for _, brought in each)
        told = f", {brought} brought by lookaheads" if looks_ahead(lane.trace) else ""
        parts.append(f"{lane.title}: {len(each)} forward passes, at most {most} tokens in one{told}.")
    return sentences(parts)


def table(shown: Sequence[Lane], counts: Sequence[list[tuple[int, int]]]) -> Plain:
    """One row per forward pass."""
    rows = []
    for index in range(max(map(len, counts), default=0)):
        rows.append([str(index + 1), *(cell(lane, each[index]) if index < len(each) else "" for lane, each in zip(shown, counts))])
    heads = [f"{lane.title} (filled + brought)" if looks_ahead(lane.trace) else lane.title for lane in shown]
    return {"head": ["Forward pass", *heads], "rows": rows}


def cell(lane: Lane, count: tuple[int, int]) -> str:
    return f"{count[0]} + {count[1]}" if looks_ahead(lane.trace) else str(count[0])

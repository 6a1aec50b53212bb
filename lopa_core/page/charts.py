"""Tokens committed per forward pass, both decoders: a trace becomes a Plotly figure made of plain lists.

Pure: no plotly, no model. Colours of text and background are the browser's, so that light and dark both work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..trace.trace import Trace

# mid-tones that stand out on white and on near-black; viewer.css has the same accents
ACCENTS = {"vanilla": "#5b80bd", "confidence": "#5b80bd", "lopa": "#db7b0e"}
BROUGHT = "#f2b866"
TITLES = {"vanilla": "One token per pass", "confidence": "Confidence decoding", "lopa": "LoPA", "lopa-paper": "LoPA, as published"}
GAP = 0.16  # share of the height between the two panels


def tokens_figure(traces: Sequence[Trace]) -> dict[str, Any]:
    """One panel of bars per decoder, one bar per forward pass, on common axes; a lookahead's token is stacked on top."""
    counts = [committed_per_pass(trace) for trace in traces]
    passes = max([1, *map(len, counts)])
    highest = max([1, *(filled + brought for each in counts for filled, brought in each)])
    layout: dict[str, Any] = {
        "barmode": "stack", "bargap": 0.18, "height": 340, "margin": {"l": 44, "r": 12, "t": 34, "b": 44},
        "legend": {"orientation": "h", "x": 0, "y": 1.03, "yanchor": "bottom", "traceorder": "normal"},
        "xaxis": {"title": {"text": "forward pass"}, "range": [0.4, passes + 0.6], "tickformat": "d", "anchor": axis(len(traces) - 1, "y")},
    }  # fmt: skip
    data = []
    for index, (trace, each) in enumerate(zip(traces, counts)):
        data += bars(trace.decoder, each, axis(index, "y"))
        height = (1 - GAP * (len(traces) - 1)) / len(traces)
        top = 1 - index * (height + GAP)
        layout[axis(index, "yaxis")] = {
            "title": {"text": "tokens"}, "domain": [max(0, top - height), top], "range": [0, highest * 1.08],
            "tick0": 0, "dtick": -(-highest // 4),
        }  # fmt: skip
    return {"data": data, "layout": layout}


def bars(decoder: str, counts: list[tuple[int, int]], yaxis: str) -> list[dict[str, Any]]:
    """The stacked bars of one decoder: tokens over the threshold, and the tokens lookaheads brought."""
    x = list(range(1, len(counts) + 1))
    common = {"type": "bar", "x": x, "yaxis": yaxis, "hovertemplate": "pass %{x}: %{y} %{fullData.name}<extra></extra>"}
    rows = [common | {"name": TITLES[decoder], "y": [filled for filled, _ in counts], "marker": {"color": ACCENTS[decoder]}}]
    if decoder == "lopa":
        pattern = {"shape": "/", "size": 5, "solidity": 0.35, "fgcolor": ACCENTS[decoder]}
        marker = {"color": BROUGHT, "pattern": pattern, "line": {"color": ACCENTS[decoder], "width": 1}}
        rows.append(common | {"name": "brought by a lookahead", "y": [brought for _, brought in counts], "marker": marker})
    return rows


def axis(index: int, name: str) -> str:
    """Plotly's name of the index-th axis: y, y2, ..."""
    return name if index == 0 else f"{name}{index + 1}"


def committed_per_pass(trace: Trace) -> list[tuple[int, int]]:
    """(tokens filled, tokens brought by the winning lookahead) of every forward pass."""
    return [(len(each.filled), int(each.brought is not None)) for each in trace.rounds]


def tokens_summary(traces: Sequence[Trace]) -> str:
    """The chart in a sentence, for those who do not see it."""
    parts = []
    for trace in traces:
        counts = committed_per_pass(trace)
        most = max([filled + brought for filled, brought in counts], default=0)
        brought = sum(brought for _, brought in counts)
        title = TITLES[trace.decoder]
        parts.append(f"{title}: {len(counts)} forward passes, at most {most} tokens in one, {brought} brought by lookaheads.")
    return " ".join(parts)


def tokens_table(traces: Sequence[Trace]) -> dict[str, list]:
    """The chart's numbers: one row per forward pass."""
    counts = [committed_per_pass(trace) for trace in traces]
    rows = []
    for index in range(max(map(len, counts), default=0)):
        cells = [f"{each[index][0]} + {each[index][1]}" if index < len(each) else "" for each in counts]
        rows.append([str(index + 1), *cells])
    return {"head": ["Forward pass", *(f"{TITLES[trace.decoder]} (filled + brought)" for trace in traces)], "rows": rows}

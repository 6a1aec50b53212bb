"""The branches LoPA weighed in every round: a trace becomes a Plotly figure made of plain lists.

A round's anchor sits at height 0, its lookaheads above it by rank. A thin line leads from the round before's winner
to each branch; the bold line joins the winners. Pure: no plotly, no model.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from ..trace.trace import Trace, TraceBranch, TraceRound
from .charts import ACCENTS

LINE, SCALE = "rgba(128,138,152,0.38)", [[0, "#8793a6"], [0.55, "#d9a05a"], [1, "#d96f00"]]
ROUND_WIDTH = 15  # px a round needs at least; the browser scrolls sideways where there are more


def tree_figure(trace: Trace) -> dict[str, Any]:
    """Rounds from left to right, the branches of each above one another."""
    winners = [height(each, each.winner) for each in trace.rounds]
    rounds = range(1, len(winners) + 1)
    edges_x, edges_y = edges(trace, winners)
    data = [
        {
            "type": "scatter", "mode": "lines", "x": edges_x, "y": edges_y, "hoverinfo": "skip", "showlegend": False,
            "line": {"color": LINE, "width": 1},
        },
        {
            "type": "scatter", "mode": "lines", "name": "the path taken", "x": list(rounds), "y": winners, "hoverinfo": "skip",
            "line": {"color": ACCENTS["lopa"], "width": 3},
        },
        nodes(trace, anchor=True),
        nodes(trace, anchor=False),
    ]  # fmt: skip
    highest = max([1, *(len(each.branches) - 1 for each in trace.rounds)])
    layout = {
        "height": 340, "margin": {"l": 44, "r": 12, "t": 34, "b": 44}, "hovermode": "closest",
        "legend": {"orientation": "h", "x": 0, "y": 1.03, "yanchor": "bottom"},
        "xaxis": {"title": {"text": "forward pass"}, "range": [0.3, len(winners) + 0.7], "tickformat": "d", "zeroline": False},
        "yaxis": {
            "title": {"text": "branch (0 = anchor)"}, "range": [-0.6, highest + 0.6], "zeroline": False,
            "tick0": 0, "dtick": -(-highest // 5),
        },
        "meta": {"width": 150 + ROUND_WIDTH * len(winners), "scale": True},
    }  # fmt: skip
    return {"data": data, "layout": layout}


def nodes(trace: Trace, *, anchor: bool) -> dict[str, Any]:
    """All anchors, or all lookaheads, as points coloured by branch confidence; the winner is larger and ringed."""
    points = [point for point in branches(trace) if point[2].anchor == anchor]
    won = [index == each.winner for _, index, _, each in points]
    low, high = score_range(trace)
    bar = {"title": {"text": "branch<br>confidence"}, "thickness": 10, "len": 0.9, "outlinewidth": 0}
    return {
        "type": "scatter", "mode": "markers", "name": "anchor" if anchor else "lookahead",
        "x": [number for number, *_ in points], "y": [height(each, index) for _, index, _, each in points],
        "text": [hover(trace, *point) for point in points], "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "symbol": "circle" if anchor else "diamond", "size": [11 if each else 7 for each in won],
            "color": [branch.score for _, _, branch, _ in points], "colorscale": SCALE, "cmin": low, "cmax": high,
            "showscale": anchor, "colorbar": bar,
            "line": {"color": ACCENTS["lopa"], "width": [2 if each else 0 for each in won]},
        },
    }  # fmt: skip


def edges(trace: Trace, winners: list[int]) -> tuple[list[int | None], list[int | None]]:
    """Lines from each winner to the next round's branches, broken by None."""
    x: list[int | None] = []
    y: list[int | None] = []
    for number, before, each in zip(range(2, len(winners) + 1), winners, trace.rounds[1:]):
        for index in range(len(each.branches)):
            x += [number - 1, number, None]
            y += [before, height(each, index), None]
    return x, y


def branches(trace: Trace) -> Iterator[tuple[int, int, TraceBranch, TraceRound]]:
    """(round from 1, index of the branch, branch, round) of every branch."""
    for number, each in enumerate(trace.rounds, 1):
        for index, branch in enumerate(each.branches):
            yield number, index, branch, each


def height(each: TraceRound, index: int) -> int:
    """0 for the anchor, else the lookahead's rank from 1."""
    return 0 if each.branches[index].anchor else index + 1


def score_range(trace: Trace) -> tuple[float, float]:
    """Lowest and highest branch confidence; a branch without masks scores 1 on every scale and is left out."""
    scores = [branch.score for _, _, branch, _ in branches(trace) if branch.masks_left]
    low, high = min(scores, default=0.0), max(scores, default=1.0)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def hover(trace: Trace, number: int, index: int, branch: TraceBranch, each: TraceRound) -> str:
    """What a pointer over the branch tells; model text is escaped, since Plotly reads a little HTML."""
    kind = "anchor" if branch.anchor else f"lookahead {height(each, index)}"
    lines = [f"<b>Pass {number}, {kind}{', chosen' if index == each.winner else ''}</b>"]
    if not branch.anchor:
        lines.append(f"tries “{escape(piece(trace, branch))}” in slot {branch.slot + 1} (probability {branch.probability:.2f})")
    lines.append(f"branch confidence {branch.score:.3f}, masks left {branch.masks_left}")
    return "<br>".join(lines)


def piece(trace: Trace, branch: TraceBranch) -> str:
    """Display text of the token a lookahead tried."""
    return trace.pieces.get(branch.token, f"token {branch.token}").replace("\n", "↵")


def tree_summary(trace: Trace) -> str:
    """The tree in a sentence, for those who do not see it."""
    taken = sum(each.brought is not None for each in trace.rounds)
    rows = sum(len(each.branches) for each in trace.rounds)
    return f"{rows} branches in {len(trace.rounds)} forward passes; a lookahead was chosen in {taken} of them, the anchor in the others."


def tree_table(trace: Trace) -> dict[str, list]:
    """The choice of every round: one row per forward pass."""
    rows = []
    for number, each in enumerate(trace.rounds, 1):
        best = each.branches[each.winner]
        choice = "anchor" if best.anchor else f"lookahead {height(each, each.winner)}: “{piece(trace, best)}” in slot {best.slot + 1}"
        rows.append([str(number), str(len(each.branches)), choice, f"{best.score:.3f}", str(best.masks_left)])
    return {"head": ["Forward pass", "Branches", "Chosen", "Branch confidence", "Masks left"], "rows": rows}

"""The branches weighed in every round of one lane, and the path through them.

A round's anchor sits at height 0, its lookaheads above it by rank. A thin line leads from the round before's winner
to each branch; the bold line joins the winners.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from ..trace.trace import Trace, TraceBranch, TraceRound
from .axes import named, passes, scale_bar
from .confidence import score_range
from .figure import FAINT, FOOT, Figure, Plain, cursor, figure, plot, sentences
from .lanes import Lane, branch_name, lanes, piece, score_words

SCALE = [[0, "#8793a6"], [0.55, "#d9a05a"], [1, "#d96f00"]]
ROUND_WIDTH, SCALE_FOOT = 14, 40  # px a round needs at least (the browser scrolls sideways), and px for the scale below
BY_HAND = "chosen by hand"


def tree_figure(traces: Sequence[Trace], index: int) -> Figure:
    """Rounds of the lane at `index` from left to right, the branches of each above one another."""
    lane = lanes(traces)[index]
    return figure(
        f"Branches: {lane.title}",
        f"Each pass weighs its anchor (round) and its lookaheads (diamonds); warmer means more {score_words(lane.trace)[0]}, the bold "
        "line joins the branches that won. Choose a branch to read its text.",
        summary(lane.trace), table(lane.trace), **{"pass": branches_plot(lane)},
    )  # fmt: skip


def branches_plot(lane: Lane) -> Plain:
    rounds = lane.trace.rounds
    highest = max([1, *(height(each, index) for each in rounds for index in range(len(each.branches)))])
    edges_x, edges_y = edges(rounds)
    thin = {"type": "scatter", "mode": "lines", "x": edges_x, "y": edges_y, "hoverinfo": "skip", "showlegend": False}
    path = {"type": "scatter", "mode": "lines", "name": "the path taken", "hoverinfo": "skip"} | {
        "x": list(range(1, len(rounds) + 1)), "y": [height(each, each.winner) for each in rounds],
    }  # fmt: skip
    data = [
        thin | {"line": {"color": FAINT, "width": 1}},
        path | {"line": {"color": lane.accent, "width": 3}},
        nodes(lane, anchor=True),
        nodes(lane, anchor=False),
    ]
    axes = {
        "xaxis": passes(len(rounds), max(8, len(rounds) // 5)) | {"showgrid": False},
        "yaxis": {
            "title": named("branch (0: anchor)"), "range": [-0.6, highest + 0.6], "zeroline": False, "tick0": 0, "dtick": -(-highest // 5),
        },
        "annotations": forced_notes(lane.trace),
    }  # fmt: skip
    foot = FOOT + SCALE_FOOT
    return plot(data, axes, [cursor(lane.index, "pass")], height=320 + SCALE_FOOT, width=80 + ROUND_WIDTH * len(rounds), foot=foot)


def scale(trace: Trace) -> Plain:
    """Colours from the lowest to the highest score of the lane."""
    low, high = score_range([trace])
    return {"colorscale": SCALE, "cmin": low, "cmax": high, "colorbar": scale_bar(score_words(trace)[0], nticks=4), "opacity": 1}


def nodes(lane: Lane, *, anchor: bool) -> Plain:
    """All anchors, or all lookaheads, as points coloured by their scores; the winner is larger and ringed.

    Forced ones come last, so that the legend shows the common symbol.
    """
    trace = lane.trace
    points = [point for point in branches(trace) if point[2].anchor == anchor]
    points.sort(key=lambda point: point[:2] in trace.forced)
    won = [index == trace.rounds[number].winner for number, index, _ in points]
    forced = [(number, index) in trace.forced for number, index, _ in points]
    symbol = "circle" if anchor else "diamond"
    kind = "anchor" if anchor else "lookahead %{y}"
    name, digits = score_words(trace)
    return {
        "type": "scatter", "mode": "markers", "name": "anchor" if anchor else "lookahead",
        "x": [number + 1 for number, *_ in points], "y": [height(trace.rounds[number], index) for number, index, _ in points],
        "customdata": [[lane.index, number, index] for number, index, _ in points],
        "text": [hover(trace, *point) for point in points],
        "hovertemplate": f"<b>pass %{{x}}, {kind}</b><br>%{{text}}<br>{name} %{{marker.color:.{digits}f}}<extra></extra>",
        "marker": {
            "symbol": ["star" if each else symbol for each in forced],
            "size": [17 if hand else 11 if each else 7 for hand, each in zip(forced, won)],
            "color": [branch.score for *_, branch in points], "showscale": anchor, **scale(trace),
            "line": {"color": lane.accent, "width": [2 if each else 0 for each in won]},
        },
    }  # fmt: skip


def edges(rounds: Sequence[TraceRound]) -> tuple[list[int | None], list[int | None]]:
    """Lines from each winner to the next round's branches, broken by None."""
    x: list[int | None] = []
    y: list[int | None] = []
    for number, (before, each) in enumerate(pairwise(rounds), 1):
        for index in range(len(each.branches)):
            x += [number, number + 1, None]
            y += [height(before, before.winner), height(each, index), None]
    return x, y


def branches(trace: Trace) -> Iterator[tuple[int, int, TraceBranch]]:
    """(round, index of the branch, branch), both from 0, of every branch."""
    for number, each in enumerate(trace.rounds):
        for index, branch in enumerate(each.branches):
            yield number, index, branch


def height(each: TraceRound, index: int) -> int:
    """0 for the anchor, else the lookahead's rank from 1."""
    return 0 if each.branches[index].anchor else index + 1


def hover(trace: Trace, number: int, index: int, branch: TraceBranch) -> str:
    """What a pointer over the branch tells beyond its place; model text is escaped, since Plotly reads a little HTML."""
    tried = "" if branch.anchor else f"tries {escape(tries(trace, branch))} ({branch.probability:.2f}), "
    return f"{tried}masks left {branch.masks_left}{verdict(trace, number, index)}"


def tries(trace: Trace, branch: TraceBranch) -> str:
    """A lookahead's token and its place, and how many more a draft has; plain text."""
    more = f" and {len(branch.more)} more" if branch.more else ""
    return f"{piece(trace, branch.token)} in slot {branch.slot + 1}{more}"


def verdict(trace: Trace, number: int, index: int) -> str:
    if index != trace.rounds[number].winner:
        return ""
    return f", {BY_HAND}" if (number, index) in trace.forced else ", won"


def forced_notes(trace: Trace) -> list[Plain]:
    """What the star means, above the plot, as soon as there is one."""
    place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False}
    reached = any((number, index) in trace.forced for number, index, _ in branches(trace))
    return [place | {"text": f"★ {BY_HAND}"}] if reached else []


def summary(trace: Trace) -> str:
    taken = sum(each.brought is not None for each in trace.rounds)
    rows = sum(len(each.branches) for each in trace.rounds)
    told = f"{rows} branches in {len(trace.rounds)} forward passes; a lookahead won {taken} of them, the anchor the others."
    forced = [f"In pass {number + 1} {branch_name(trace, number, index)} was {BY_HAND}." for number, index in trace.forced]
    return sentences([told, *forced])


def table(trace: Trace) -> Plain:
    """The choice of every round: one row per forward pass."""
    name, digits = score_words(trace)
    rows = []
    for number, each in enumerate(trace.rounds):
        best = each.best
        choice = branch_name(trace, number, each.winner).removeprefix("the ")
        tried = "" if best.anchor else f": {tries(trace, best)}"
        hand = f" ({BY_HAND})" if (number, each.winner) in trace.forced else ""
        rows.append([str(number + 1), str(len(each.branches)), f"{choice}{tried}{hand}", f"{best.score:.{digits}f}", str(best.masks_left)])
    return {"head": ["Forward pass", "Branches", "Winner", name.capitalize(), "Masks left"], "rows": rows}

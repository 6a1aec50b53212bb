"""Branch confidence in each forward pass: the anchor against the branch that won, for lanes that look ahead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..trace.trace import Trace, TraceBranch, TraceRound
from .axes import axis, named, panel_title, passes, spread, stacked
from .figure import GREY, Figure, Plain, cursor, figure, plot, sentences
from .lanes import BRANCH_CONFIDENCE, Lane, branch_name, lanes, looks_ahead, score_words

FULL = "no mask left"
DENSE = 60  # passes from which on marks are smaller


def confidence_figure(traces: Sequence[Trace]) -> Figure | None:
    """None where no lane looks ahead by it; steps of a draft are no confidence."""
    shown = [lane for lane in lanes(traces) if looks_ahead(lane.trace) and score_words(lane.trace) == BRANCH_CONFIDENCE]
    if not shown:
        return None
    return figure(
        "Branch confidence: the anchor and the winner",
        "Where the winner's line lies above the anchor's, the token that a lookahead tried made the model surer of the rest. "
        f"A branch with {FULL} stands on the upper edge.",
        sentences([summary(lane) for lane in shown]), table(shown), **{"pass": panels(shown)},
    )  # fmt: skip


def panels(shown: Sequence[Lane]) -> Plain:
    height = 340 if len(shown) < 3 else 150 * len(shown) + 60
    low, high = score_range(lane.trace for lane in shown)
    edge = high + 0.12 * (high - low)
    last = axis(len(shown) - 1, "y")
    axes: Plain = {"xaxis": passes(max(len(lane.trace.rounds) for lane in shown)) | {"anchor": last}, "annotations": []}
    data: list[Plain] = []
    for index, (lane, domain) in enumerate(zip(shown, stacked([1] * len(shown), height))):
        y = axis(index, "y")
        axes[axis(index, "yaxis")] = {
            "title": named("branch confidence" if len(shown) == 1 else "confidence"), "domain": domain, "zeroline": False, "nticks": 5,
            "range": [low - 0.06 * (high - low), edge + 0.06 * (high - low)],
        }  # fmt: skip
        axes["annotations"].append(panel_title(lane, "x", y))
        data += [each | {"yaxis": y, "showlegend": index == 0} for each in curves(lane, edge)]
    cursors = [cursor(lane.index, "pass", y=axis(index, "y")) for index, lane in enumerate(shown)]
    return plot(data, axes, cursors, height=height)


def score_range(traces: Iterator[Trace]) -> tuple[float, float]:
    """Lowest and highest branch confidence; a branch without masks scores the same on every scale and is left out."""
    return spread(branch.score for trace in traces for each in trace.rounds for branch in each.branches if branch.masks_left)


def curves(lane: Lane, edge: float) -> list[Plain]:
    """The losing lookaheads as points, the anchor's line, the winner's line."""
    rounds = lane.trace.rounds
    numbers = list(range(1, len(rounds) + 1))
    others = [(number, branch) for number, each in zip(numbers, rounds) for index, branch in lookaheads(each) if index != each.winner]
    dashed = {"color": GREY, "width": 1.5, "dash": "dot"}
    return [
        curve("other lookaheads", [number for number, _ in others], [branch for _, branch in others], edge)
        | {"mode": "markers", "marker": {"symbol": "circle", "size": 4, "color": "rgba(128,138,152,0.6)"}},
        curve("anchor", *anchors(rounds), edge)
        | {"mode": "lines+markers", "line": dashed, "marker": {"symbol": "circle-open", "size": 7, "color": GREY, "maxdisplayed": 60}},
        curve("winner", numbers, [each.best for each in rounds], edge)
        | {"mode": "lines+markers", "line": {"color": lane.accent, "width": 2}, "marker": winners(lane)},
    ]


def winners(lane: Lane) -> Plain:
    """A diamond where a lookahead won, a dot where the anchor did."""
    brought = [each.brought is not None for each in lane.trace.rounds]
    large, small = (8, 5) if len(brought) < DENSE else (5, 3)
    symbols, sizes = ["diamond" if each else "circle" for each in brought], [large if each else small for each in brought]
    return {"symbol": symbols, "size": sizes, "color": lane.accent, "opacity": 1, "line": {"width": 0}}


def curve(name: str, x: list[int], branches: list[TraceBranch], edge: float) -> Plain:
    return {
        "type": "scatter", "name": name, "x": x, "y": [branch.score if branch.masks_left else edge for branch in branches],
        "text": [worded(branch) for branch in branches], "hovertemplate": "pass %{x}: %{text}<extra>%{fullData.name}</extra>",
    }  # fmt: skip


def worded(branch: TraceBranch) -> str:
    return f"{branch.score:.3f}" if branch.masks_left else FULL


def lookaheads(each: TraceRound) -> list[tuple[int, TraceBranch]]:
    return [(index, branch) for index, branch in enumerate(each.branches) if not branch.anchor]


def anchor(each: TraceRound) -> TraceBranch | None:
    """The anchor, which is the last branch; adaptive LoPA may do without."""
    return each.branches[-1] if each.branches[-1].anchor else None


def anchors(rounds: Sequence[TraceRound]) -> tuple[list[int], list[TraceBranch]]:
    """(forward passes that have an anchor, the anchors)."""
    told = [(number, branch) for number, each in enumerate(rounds, 1) if (branch := anchor(each))]
    return [number for number, _ in told], [branch for _, branch in told]


def summary(lane: Lane) -> str:
    rounds = lane.trace.rounds
    pairs = [(each.best, branch) for each in rounds if each.brought and (branch := anchor(each))]
    surer = [best.score - branch.score for best, branch in pairs if best.masks_left and branch.masks_left]
    taken = sum(each.brought is not None for each in rounds)
    mean = sum(surer) / max(1, len(surer))
    told = f", where its branch confidence was {abs(mean):.3f} {'above' if mean >= 0 else 'below'} the anchor's on average" if surer else ""
    return f"{lane.title}: a lookahead won {taken} of {len(rounds)} forward passes{told}."


def table(shown: Sequence[Lane]) -> Plain:
    """One row per lane and forward pass."""
    rows = []
    for lane in shown:
        for number, each in enumerate(lane.trace.rounds):
            scores = sorted((branch.score, worded(branch)) for index, branch in lookaheads(each) if index != each.winner)
            others = "" if not scores else f"{scores[0][1]} to {scores[-1][1]}" if len(scores) > 1 else scores[0][1]
            name = branch_name(lane.trace, number, each.winner)
            beside = anchor(each)
            rows.append([lane.title, str(number + 1), worded(beside) if beside else "", name, worded(each.best), others])
    return {"head": ["Decoder", "Forward pass", "Anchor", "Winner", "Its branch confidence", "Other lookaheads"], "rows": rows}

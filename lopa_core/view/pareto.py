"""Decoders on the plane of accuracy and cost: against forward passes, and against seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .axes import named
from .figure import GREY, Figure, Plain, figure, plot
from .lanes import ACCENTS, LONGEST_TITLE, TITLES, shortened

HEIGHT = 460
BESIDE = (0.2, 0.08)  # room on the left and on the right of the points, for names there, as shares of what they span
TICKS = [step * 10.0**power for power in range(-3, 4) for step in (1, 1.5, 2, 3, 4, 5, 7)]
AROUND = ("top center", "top left", "bottom right", "top right", "middle left")
ALWAYS = ("vanilla", "confidence", "lopa", "lopa-paper")  # by name on the chart; of the others, who is not beaten
WORDS = {"rounds": "forward passes", "seconds": "seconds"}
COSTS = {"rounds": "forward passes per problem", "seconds": "seconds per problem"}
Row = Mapping[str, Any]


def pareto_figures(results: Sequence[Row], about: str) -> dict[str, Figure]:
    """One figure per cost. results: rows of a benchmark's report (decoder, problems, accuracy with its interval, sums of
    rounds and seconds); about: on what they were measured."""
    return {f"pareto-{cost}": pareto_figure(results, about, cost) for cost in COSTS}


def pareto_figure(results: Sequence[Row], about: str, cost: str) -> Figure:
    best = front(results, cost)
    names = ", ".join(f"{title(results[index])} ({per_problem(results[index], cost):.3g})" for index in best)
    return figure(
        f"Accuracy against {WORDS[cost]}",
        "A point per decoder, further left and higher is better; bars are 95 % intervals, and the line joins the decoders that no "
        f"other one beats on both; the others' names are under the pointer. {about}",
        f"Not beaten on accuracy and {COSTS[cost]}: {names}.", table(results), **{"pass": scatter(results, cost, best)},
    )  # fmt: skip


def per_problem(row: Row, name: str) -> float:
    return row[name] / row["problems"] if row["problems"] else 0.0


def front(results: Sequence[Row], cost: str) -> list[int]:
    """Indices of the decoders that no other one equals or beats in both accuracy and cost, the cheapest first."""
    order = sorted(range(len(results)), key=lambda index: (per_problem(results[index], cost), -results[index]["accuracy"]))
    best, kept = -1.0, []
    for index in order:
        if results[index]["accuracy"] > best:
            best = results[index]["accuracy"]
            kept.append(index)
    return kept


def scatter(results: Sequence[Row], cost: str, best: list[int]) -> Plain:
    x = [round(per_problem(row, cost), 4) for row in results]
    y = [round(row["accuracy"], 2) for row in results]
    line = {
        "type": "scatter", "mode": "lines", "name": "not beaten", "hoverinfo": "skip", "x": [x[index] for index in best],
        "y": [y[index] for index in best], "line": {"color": GREY, "width": 1.5, "dash": "dot", "shape": "hv"},
    }  # fmt: skip
    points = {
        "type": "scatter", "mode": "markers+text", "name": "decoders", "showlegend": False, "x": x, "y": y,
        "text": [escape(title(row)) if index in best or row["decoder"] in ALWAYS else "" for index, row in enumerate(results)],
        "textposition": [place(index, best, x) for index in range(len(results))], "textfont": {"size": 11},
        "cliponaxis": False, "customdata": [escape(title(row)) for row in results],
        "hovertemplate": f"<b>%{{customdata}}</b><br>%{{y}} % right<br>%{{x}} {COSTS[cost]}<extra></extra>",
        "marker": {"size": [11 if index in best else 8 for index in range(len(results))], "color": [accent(row) for row in results]},
        "error_y": {
            "type": "data", "symmetric": False, "thickness": 1, "width": 0, "color": "rgba(128,138,152,0.5)",
            "array": [round(row["accuracy_high"] - row["accuracy"], 2) for row in results],
            "arrayminus": [round(row["accuracy"] - row["accuracy_low"], 2) for row in results],
        },
    }  # fmt: skip
    axes = {
        "xaxis": {
            "title": named(COSTS[cost] + ", logarithmic"),
            "type": "log",
            "range": reach(x),
            "tickvals": TICKS,
            "ticktext": [f"{each:g}" for each in TICKS],
        },
        "yaxis": {"title": named("problems solved, %")},
    }
    return plot([line, points], axes, [], height=HEIGHT)


def reach(x: Sequence[float]) -> list[float]:
    """Exponents of 10 between which the axis of costs lies."""
    low, high = (math.log10(max(each, 1e-9)) for each in (min(x, default=1), max(x, default=1)))
    left, right = (share * max(high - low, 0.1) for share in BESIDE)
    return [low - left, high + right]


def place(index: int, best: list[int], x: Sequence[float]) -> str:
    """Where a name stands: those not beaten crowd together, so they take turns; the last one's ends at the edge."""
    if index in best:
        return AROUND[best.index(index) % len(AROUND)]
    return "bottom left" if x[index] == max(x) else "bottom right"


def title(row: Row) -> str:
    return shortened(TITLES.get(row["decoder"], row["decoder"]), LONGEST_TITLE)


def accent(row: Row) -> str:
    name = row["decoder"]
    return ACCENTS["lopa" if "lopa" in name else "baseline" if name in ("confidence", "vanilla") else "other"]


def table(results: Sequence[Row]) -> Plain:
    """One row per decoder."""
    rows = []
    for row in results:
        interval = f"{row['accuracy']:.1f} ({row['accuracy_low']:.1f} to {row['accuracy_high']:.1f})"
        costs = [f"{per_problem(row, name):.1f}" for name in ("rounds", "branch_forwards", "extra_tokens")]
        rows.append([title(row), interval, f"{row['tpf']:.2f}", *costs, f"{per_problem(row, 'seconds'):.3f}"])
    return {"head": ["Decoder", "Right % (95 %)", "TPF", "Passes", "Branch-forwards", "Superposed tokens", "Seconds"], "rows": rows}

"""Axes, panels and scales of figures, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .figure import FOOT, HEAD, TITLE, Plain
from .lanes import Lane

TICKS = 8  # at most, on an axis of passes; more would run into each other on a phone
GAP = TITLE + 8  # px between panels: the next one's title and some air
SMALL = {"size": 12.5}  # an axis title is as large as the ticks


def axis(index: int, name: str) -> str:
    """Plotly's name of the index-th axis: y, y2, ..."""
    return name if index == 0 else f"{name}{index + 1}"


def stacked(shares: Sequence[float], height: int, head: int = HEAD, foot: int = FOOT, gap: int = GAP) -> list[list[float]]:
    """Domains of panels on top of each other, the first on top. shares: their heights to each other; height: the plot's in px."""
    between = gap / max(1, height - head - TITLE - foot)
    unit = (1 - between * (len(shares) - 1)) / sum(shares)
    domains, top = [], 1.0
    for share in shares:
        domains.append([max(0.0, round(top - unit * share, 6)), round(top, 6)])
        top -= unit * share + between
    return domains


def beside(count: int, gap: float = 0.07) -> list[list[float]]:
    """Domains of panels next to each other."""
    share = (1 - gap * (count - 1)) / count
    return [[round(index * (share + gap), 6), round(index * (share + gap) + share, 6)] for index in range(count)]


def panel_title(lane: Lane, x: str, y: str, more: str = "") -> Plain:
    """The lane's title above its panel, behind a square of its accent. more: plain text without a visitor's words."""
    text = f'<span style="color:{lane.accent}">■</span> {lane.label}{more}'
    return {
        "text": text, "showarrow": False, "xref": f"{x} domain", "yref": f"{y} domain",
        "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom", "xshift": -3,
    }  # fmt: skip


def named(text: str) -> Plain:
    """An axis title."""
    return {"text": text, "font": SMALL, "standoff": 6}


def scale_bar(title: str, **more: Any) -> Plain:
    """A slim scale of colours at the foot of a plot."""
    return {
        "orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yref": "container", "yanchor": "bottom", "lenmode": "pixels",
        "len": 160 + 7 * len(title),  # the title takes its share of it
        "thickness": 8, "outlinewidth": 0, "ypad": 4, "xpad": 0, "title": {"text": title, "side": "right", "font": SMALL},
    } | more  # fmt: skip


def step(highest: float, ticks: int = TICKS) -> int:
    """A round whole distance between ticks: 1, 2 or 5 times a power of ten."""
    rough, size = max(1.0, highest / ticks), 1
    while size * 10 <= rough:
        size *= 10
    return next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)


def passes(count: int, ticks: int = TICKS) -> Plain:
    """The axis of forward passes, counted from 1."""
    count = max(1, count)
    every = step(count, ticks)
    # 1, 3, 5 or 1, 5, 10, 15: in 1, 2, 4 the first two would touch
    marks = [*range(1, count + 1, every)] if every == 2 else sorted({1, *range(every, count + 1, every)})
    return {"title": named("forward pass"), "range": [0.4, count + 0.6], "tickmode": "array", "tickvals": marks, "zeroline": False}


def spread(values: Iterable[float]) -> tuple[float, float]:
    """Lowest and highest, never the same; 0 to 1 for none."""
    told = list(values)
    low, high = min(told, default=0.0), max(told, default=1.0)
    return (low, high) if low < high else (low - 0.5, high + 0.5)

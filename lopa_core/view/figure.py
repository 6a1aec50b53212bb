"""What all figures share. A figure is plain data: Plotly traces and layout, and the same in words and as a table.

Pure: no plotly, no model. Colours of text, background and grid are the browser's, so that light and dark both work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Figure = dict[str, Any]
Plain = dict[str, Any]  # a part of a Plotly figure

GREY, FAINT = "#808a98", "rgba(128,138,152,0.38)"  # of marks that belong to no lane
HEAD, FOOT = 28, 44  # px above the panels for a line of legend, and below them for ticks and an axis title
TITLE = 22  # px above a panel for its title


def figure(title: str, caption: str, summary: str, table: Plain, **plots: Plain) -> Figure:
    """A figure as the viewer takes it. caption: how to read it; summary: what it shows, for those who do not see it."""
    return {"title": title, "caption": caption, "summary": summary, "table": table, "plots": plots}


def plot(
    data: list[Plain], axes: Plain, cursors: list[Plain], *, height: int, width: int = 0, head: int = HEAD, foot: int = FOOT, **more: Any
) -> Plain:
    """A Plotly figure with its legend above the panels and their titles. width: px it needs at least."""
    inside = max(1, height - head - TITLE - foot)
    meta: Plain = {"cursors": cursors} | ({"width": width} if width else {})
    layout = {
        "height": height, "margin": {"l": 50, "r": 14, "t": head + TITLE, "b": foot}, "hovermode": "closest", "meta": meta,
        "legend": {"orientation": "h", "x": 0, "y": 1 + TITLE / inside, "yanchor": "bottom", "traceorder": "normal"},
    }  # fmt: skip
    return {"data": data, "layout": layout | axes | more}


def cursor(lane: int | None, unit: str, x: str = "x", y: str = "y") -> Plain:
    """Where the browser draws the position shown; lane None is the clock itself."""
    return {"x": x, "y": y, "lane": lane, "unit": unit}


def sentences(parts: Sequence[str]) -> str:
    return " ".join(part for part in parts if part)

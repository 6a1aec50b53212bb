"""The marks of the filling order: one where a slot was written, of another shape where a lookahead brought the token."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .figure import Plain
from .lanes import Lane, looks_ahead, piece

FILLED, BROUGHT = "filled", "brought by a lookahead"


def marks(lane: Lane, room: float, legend: dict[str, bool]) -> list[Plain]:
    """A dot where a slot was filled, an open diamond where a lookahead brought the token. room: px per slot."""
    told: dict[str, list[tuple[int, int, str]]] = {FILLED: [], BROUGHT: []}
    for number, each in enumerate(lane.trace.rounds, 1):
        for index, (slot, token, probability) in enumerate(each.committed):
            name = BROUGHT if index < each.brought_count else FILLED
            told[name].append((number, slot + 1, f"{escape(piece(lane.trace, token))} {probability:.0%}"))
    size = round(min(8.0, max(2.5, 0.95 * room)), 1)
    dot = {"symbol": "circle", "size": size, "color": lane.accent}
    large, thick = (size + 3, 2) if room > 3 else (5, 1.2)
    diamond = {"symbol": "diamond-open", "size": large, "color": lane.accent, "line": {"width": thick}}
    drawn = [points(told[FILLED], FILLED, dot)] + ([points(told[BROUGHT], BROUGHT, diamond)] if looks_ahead(lane.trace) else [])
    return [each | {"showlegend": legend[each["name"]]} for each in drawn]


def points(told: Sequence[tuple[int, int, str]], name: str, marker: Plain) -> Plain:
    return {
        "type": "scatter", "mode": "markers", "name": name, "marker": marker, "cliponaxis": False,
        "x": [number for number, *_ in told], "y": [slot for _, slot, _ in told], "text": [text for *_, text in told],
        "hovertemplate": "slot %{y}, written in pass %{x}<br>%{text}<extra>%{fullData.name}</extra>",
    }  # fmt: skip

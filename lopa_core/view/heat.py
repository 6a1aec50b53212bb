"""The shades of the filling order: a matrix of percentages, small enough to be sent again while a race runs.

A slot is looked at from the pass that opens its block to the pass that fills it, so most of slots x passes is blank.
Long texts are cut into bands of neighbouring slots, each with the passes that looked at it and no more.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from html import escape
from typing import Any

from ..trace.trace import Trace
from .lanes import piece

# clear where nothing was looked at (0), then from faint to strong on light and dark alike
SCALE = [[0, "rgba(128,138,152,0)"], [0.004, "rgba(128,138,152,0)"], [0.006, "rgba(128,138,152,0.1)"], [1, "rgba(128,138,152,0.6)"]]
WORDED, LISTED = 4000, 16000  # cells up to which each says its token, and up to which they are plain numbers
BANDS = 8
Cell = tuple[int, int]  # token, percent


def heat(trace: Trace, slots: int) -> list[dict[str, Any]]:
    """Heat maps that together show the first `slots` slots in every pass."""
    rounds = [cells(each) for each in trace.rounds]
    whole = slots * len(rounds) <= WORDED
    bands = [(range(slots), range(len(rounds)))] if whole else list(cut(rounds, slots))
    size = sum(len(rows) * len(columns) for rows, columns in bands)
    return [band(trace, rounds, rows, columns, size) for rows, columns in bands]


def cells(each: Any) -> dict[int, Cell]:
    """The winner's masked slots of a round. At least 1 %, since 0 is blank."""
    seen = each.best.seen
    percents = (min(100, max(1, round(100 * probability))) for probability in seen.probabilities)
    return dict(zip(seen.slots, zip(seen.tokens, percents)))


def cut(rounds: list[dict[int, Cell]], slots: int) -> Iterator[tuple[range, range]]:
    """(slots, rounds) of every band that was looked at."""
    high = -(-slots // BANDS)
    for top in range(0, slots, high):
        rows = range(top, min(top + high, slots))
        looked = [number for number, told in enumerate(rounds) if any(slot in told for slot in rows)]
        if looked:
            yield rows, range(looked[0], looked[-1] + 1)


def band(trace: Trace, rounds: list[dict[int, Cell]], rows: range, columns: range, size: int) -> dict[str, Any]:
    """One heat map. size: cells of all bands together, which decides how much each may say."""
    matrix = [[rounds[number].get(slot) for number in columns] for slot in rows]
    drawn: dict[str, Any] = {
        "type": "heatmap", "x0": columns.start + 1, "dx": 1, "y0": rows.start + 1, "dy": 1, "coloraxis": "coloraxis",
        "hoverongaps": False, "hovertemplate": "slot %{y}, masked in pass %{x}<br>%{z} %<extra></extra>",
    }  # fmt: skip
    if size > LISTED:
        data = bytes(cell[1] if cell else 0 for row in matrix for cell in row)
        packed = {"bdata": b64encode(data).decode(), "dtype": "u1", "shape": f"{len(rows)}, {len(columns)}"}
        return drawn | {"z": packed, "hovertemplate": "slot %{y}, pass %{x}<br>%{z} % (0 where it was not masked)<extra></extra>"}
    drawn["z"] = [[cell[1] if cell else None for cell in row] for row in matrix]
    if size <= WORDED:
        drawn["text"] = [[f"{escape(piece(trace, cell[0]))} {cell[1]} %" if cell else "" for cell in row] for row in matrix]
        drawn["hovertemplate"] = "slot %{y}, masked in pass %{x}<br>would be %{text}<extra></extra>"
    return drawn

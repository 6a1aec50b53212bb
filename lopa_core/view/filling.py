"""The order in which slots were filled: slots down, forward passes across, a panel per lane.

The shade of a slot in a pass is the probability of its prediction while it was masked; a mark says that it was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from ..trace.trace import Trace
from .axes import GAP, axis, beside, named, panel_title, passes, scale_bar, stacked, step
from .figure import FOOT, GREY, HEAD, TITLE, Figure, Plain, cursor, figure, plot, sentences
from .heat import SCALE, heat
from .lanes import Lane, lanes, looks_ahead, piece
from .marks import BROUGHT, FILLED, marks

WIDEST = 440  # px that a panel may demand
STACKED = 3  # lanes from which on panels are on top of each other
SCALE_FOOT = 40  # px for the scale of probabilities below the axis
MOST_BLOCKS = 40  # more block borders than this would be a grid


def filling_figure(traces: Sequence[Trace]) -> Figure:
    """Panels side by side, with slots at the same height; from three lanes on they are on top of each other."""
    shown = lanes(traces)
    slots = max(1, *(reach(trace) for trace in traces)) if traces else 1
    return figure(
        "Filling order",
        "Slots from top to bottom, forward passes from left to right: the stronger the shade, the surer the "
        "prediction for a slot while it was masked; a mark stands where its token was written.",
        summary(shown), table(shown, slots), **{"pass": panels(shown, slots)},
    )  # fmt: skip


def reach(trace: Trace) -> int:
    """Slots from the first to the last one that was looked at or written."""
    looked = [max(each.best.seen.slots, default=-1) for each in trace.rounds]
    written = [slot for each in trace.rounds for slot, *_ in each.committed]
    return 1 + max([-1, *looked, *written])


def panels(shown: Sequence[Lane], slots: int) -> Plain:
    """Each panel has passes of its own, so that a short decode is as large as a long one."""
    foot, room = FOOT + SCALE_FOOT, panel_height(slots, len(shown))
    axes, height = (row if len(shown) < STACKED else column)(shown, slots, room, foot)
    axes |= {"coloraxis": scale(), "annotations": [], "shapes": []}
    data: list[Plain] = []
    cursors: list[Plain] = []
    first = next((lane.index for lane in shown if looks_ahead(lane.trace)), None)
    for lane in shown:
        x = axis(lane.index, "x")
        y = axes[axis(lane.index, "xaxis")]["anchor"]
        axes["annotations"].append(panel_title(lane, x, y))
        axes["shapes"] += borders(lane.trace, slots, x, y)
        written = marks(lane, room / slots, {FILLED: lane.index == 0, BROUGHT: lane.index == first})
        data += [each | {"xaxis": x, "yaxis": y} for each in (*heat(lane.trace, slots), *written)]
        cursors.append(cursor(lane.index, "pass", x, y))
    longest = max((len(lane.trace.rounds) for lane in shown), default=0)
    across = len(shown) if len(shown) < STACKED else 1
    return plot(data, axes, cursors, height=height, width=80 + across * min(WIDEST, 3 * longest), foot=foot)


def panel_height(slots: int, count: int) -> int:
    """Px for the slots: a few per slot, within what a screen takes."""
    return min(440 if count < STACKED else 260, max(230, 5 * slots))


def row(shown: Sequence[Lane], slots: int, room: int, foot: int) -> tuple[Plain, int]:
    """Axes of panels side by side, which share their slots, and the height of the plot."""
    axes: Plain = {"yaxis": slot_axis(slots)}
    for lane, domain in zip(shown, beside(len(shown))):
        x = passes(len(lane.trace.rounds), 8 // len(shown))
        axes[axis(lane.index, "xaxis")] = x | {"showgrid": False, "anchor": "y", "domain": domain}
    return axes, HEAD + TITLE + room + foot


def column(shown: Sequence[Lane], slots: int, room: int, foot: int) -> tuple[Plain, int]:
    """Axes of panels on top of each other, the ticks of each below it, and the height of the plot."""
    gap = GAP + 18
    height = HEAD + TITLE + len(shown) * (room + gap) - gap + foot
    axes: Plain = {}
    for lane, domain in zip(shown, stacked([1] * len(shown), height, foot=foot, gap=gap)):
        x, y = axis(lane.index, "x"), axis(lane.index, "y")
        axes[axis(lane.index, "xaxis")] = passes(len(lane.trace.rounds)) | {"showgrid": False, "anchor": y}
        axes[axis(lane.index, "yaxis")] = slot_axis(slots) | {"domain": domain, "anchor": x}
        if lane is not shown[-1]:
            del axes[axis(lane.index, "xaxis")]["title"]
    return axes, height


def slot_axis(slots: int) -> Plain:
    """Slot 1 on top."""
    return {
        "title": named("slot"), "range": [slots + 0.5, 0.5], "zeroline": False, "showgrid": False,
        "tickmode": "array", "tickvals": sorted({1, *range(step(slots), slots + 1, step(slots))}),
    }  # fmt: skip


def scale() -> Plain:
    """The scale that all panels share, at the figure's foot."""
    bar = scale_bar("probability", tickvals=[1, 50, 100], ticktext=["0 %", "50 %", "100 %"])
    return {"colorscale": SCALE, "cmin": 0, "cmax": 100, "colorbar": bar}


def borders(trace: Trace, slots: int, x: str, y: str) -> list[Plain]:
    """Thin lines between blocks."""
    size = int(trace.settings["block_size"])
    places = range(size, slots, size)
    line = {"color": GREY, "width": 1, "dash": "dot"}
    common = {"type": "line", "xref": f"{x} domain", "x0": 0, "x1": 1, "yref": y, "line": line, "layer": "below"}
    return [common | {"y0": place + 0.5, "y1": place + 0.5} for place in places] if len(places) <= MOST_BLOCKS else []


def summary(shown: Sequence[Lane]) -> str:
    parts = []
    for lane in shown:
        order = [slot for each in lane.trace.rounds for slot, *_ in sorted(each.committed)]
        back = sum(slot < furthest for slot, furthest in zip(order, accumulate(order, max)))
        told = f"{len(order)} slots in {len(lane.trace.rounds)} forward passes, {back} of them when a later one was already written"
        parts.append(f"{lane.title}: {told}.")
    return sentences(parts)


def table(shown: Sequence[Lane], slots: int) -> Plain:
    """One row per slot: when each lane wrote it, and how sure the prediction was."""
    columns = [written(lane.trace) for lane in shown]
    rows = [[str(slot + 1), *(column.get(slot, "") for column in columns)] for slot in range(slots)]
    return {"head": ["Slot", *(lane.title for lane in shown)], "rows": rows}


def written(trace: Trace) -> dict[int, str]:
    """What is to be said of every written slot."""
    told = {}
    for number, each in enumerate(trace.rounds, 1):
        for index, (slot, token, probability) in enumerate(each.committed):
            by = ", by a lookahead" if index < each.brought_count else ""
            told[slot] = f"{piece(trace, token)} in pass {number} at {probability:.0%}{by}"
    return told

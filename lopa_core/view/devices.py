"""Which device ran which rows when, on the lane's own clock: a panel per lane, a row per device, idle time left blank."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..trace.metrics import measure
from ..trace.trace import Trace, TraceSpan
from .axes import GAP, axis, named, panel_title, stacked
from .figure import FOOT, TITLE, Figure, Plain, cursor, figure, plot, sentences
from .lanes import Lane, lanes

HEADLESS, ROW = 4, 26  # px above the panels, which need no legend, and per device
LONGEST_NAME = 60  # characters of a device's name in a hover text


def devices_figure(traces: Sequence[Trace]) -> Figure | None:
    """None where no lane has device times: traces of version 1, and lanes that have not begun."""
    shown = [lane for lane in lanes(traces) if any(each.spans for each in lane.trace.rounds)]
    if not shown:
        return None
    return figure(
        "Devices at work",
        "A bar wherever a device ran rows of a forward pass, taller for more rows; the gaps are idle time, when the host was choosing "
        "and filling or other devices were still busy.",
        sentences([summary(lane) for lane in shown]), table(shown), **{"pass": panels(shown)},
    )  # fmt: skip


def panels(shown: Sequence[Lane]) -> Plain:
    tall = [max(42, ROW * len(lane.trace.devices)) for lane in shown]
    height = HEADLESS + TITLE + sum(tall) + GAP * (len(shown) - 1) + FOOT
    longest = max(measure(lane.trace).seconds for lane in shown)
    last = axis(len(shown) - 1, "y")
    x = {"title": named("seconds on the decoder's own clock"), "range": [0, longest * 1.01], "nticks": 6, "zeroline": False, "anchor": last}
    axes: Plain = {"xaxis": x, "annotations": []}
    data: list[Plain] = []
    for index, (lane, domain) in enumerate(zip(shown, stacked(tall, height, head=HEADLESS))):
        y, count = axis(index, "y"), len(lane.trace.devices)
        axes[axis(index, "yaxis")] = {
            "domain": domain, "range": [count + 0.5, 0.5], "tickmode": "array", "tickvals": list(range(1, count + 1)), "zeroline": False,
            "title": named("device"), "showgrid": False,
        }  # fmt: skip
        axes["annotations"].append(panel_title(lane, "x", y, f": idle {idle_words(lane.trace)}"))
        data.append(bars(lane, y))
    cursors = [cursor(lane.index, "seconds", y=axis(index, "y")) for index, lane in enumerate(shown)]
    return plot(data, axes, cursors, height=height, head=HEADLESS, barmode="overlay", showlegend=False)


def spans(trace: Trace) -> list[tuple[int, TraceSpan]]:
    """(forward pass from 1, span) of the whole decode."""
    return [(number, span) for number, each in enumerate(trace.rounds, 1) for span in each.spans]


def bars(lane: Lane, y: str) -> Plain:
    """A bar per span, its height by its rows."""
    told = spans(lane.trace)
    most = max(len(span.rows) for _, span in told)
    names = [escape(name[:LONGEST_NAME]) for name in lane.trace.devices]
    return {
        "type": "bar", "orientation": "h", "yaxis": y, "name": lane.label, "marker": {"color": lane.accent, "line": {"width": 0}},
        "base": [round(span.start, 5) for _, span in told], "x": [round(span.end - span.start, 5) for _, span in told],
        "y": [span.device + 1 for _, span in told], "width": [round(0.25 + 0.55 * len(span.rows) / max(1, most), 2) for _, span in told],
        "text": [f"pass {number}, {rows_words(span.rows)}: {1000 * (span.end - span.start):.1f} ms" for number, span in told],
        "textposition": "none",
        "customdata": [names[span.device] for _, span in told],
        "hovertemplate": "%{text}<br>%{customdata}<extra>%{fullData.name}</extra>",
    }  # fmt: skip


def rows_words(rows: Sequence[int]) -> str:
    """Rows counted from 1, as a range where they are neighbours."""
    if not rows:
        return "no row"
    if len(rows) == 1:
        return f"row {rows[0] + 1}"
    if list(rows) == list(range(rows[0], rows[0] + len(rows))):
        return f"rows {rows[0] + 1} to {rows[-1] + 1}"
    return "rows " + ", ".join(str(row + 1) for row in rows)


def busy(trace: Trace) -> list[float]:
    """Seconds each device worked."""
    seconds = [0.0] * len(trace.devices)
    for _, span in spans(trace):
        seconds[span.device] += span.end - span.start
    return seconds


def idle(trace: Trace) -> list[float]:
    """Share of the decode's seconds in which each device did not work."""
    whole = measure(trace).seconds
    return [min(1.0, max(0.0, 1 - each / whole)) if whole else 0.0 for each in busy(trace)]


def idle_words(trace: Trace) -> str:
    """One share, or the lowest and the highest of several devices."""
    told = sorted({f"{each:.0%}" for each in idle(trace)}, key=lambda text: int(text[:-1]))
    return told[0] if len(told) == 1 else f"{told[0]} to {told[-1]}"


def summary(lane: Lane) -> str:
    count, seconds = len(lane.trace.devices), measure(lane.trace).seconds
    return f"{lane.title}: {count} device{'s' if count > 1 else ''}, idle {idle_words(lane.trace)} of {seconds:.2f} seconds."


def table(shown: Sequence[Lane]) -> Plain:
    """One row per lane and device."""
    rows = []
    for lane in shown:
        for device, (name, worked, share) in enumerate(zip(lane.trace.devices, busy(lane.trace), idle(lane.trace))):
            own = [span for _, span in spans(lane.trace) if span.device == device]
            count = sum(len(span.rows) for span in own)
            rows.append([lane.title, f"{device + 1}: {name}", f"{worked:.3f}", f"{share:.0%}", str(len(own)), str(count)])
    return {"head": ["Decoder", "Device", "Seconds at work", "Idle", "Forward passes", "Rows"], "rows": rows}

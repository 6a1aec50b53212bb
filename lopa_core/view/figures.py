"""All figures of some traces, by name and in the order in which they stand on a page."""

from __future__ import annotations

from collections.abc import Sequence

from ..trace.trace import Trace
from .confidence import confidence_figure
from .devices import devices_figure
from .figure import Figure
from .filling import filling_figure
from .lanes import looks_ahead
from .progress import progress_figure
from .tokens import tokens_figure
from .tree import tree_figure


def figures(traces: Sequence[Trace]) -> dict[str, Figure]:
    """tokens, progress, tree-<lane> per lane that looks ahead, filling, confidence, devices; without those that have nothing to show."""
    trees = {f"tree-{index}": tree_figure(traces, index) for index, trace in enumerate(traces) if looks_ahead(trace)}
    drawn: dict[str, Figure | None] = {
        "tokens": tokens_figure(traces), "progress": progress_figure(traces), **trees,
        "filling": filling_figure(traces), "confidence": confidence_figure(traces), "devices": devices_figure(traces),
    }  # fmt: skip
    return {name: each for name, each in drawn.items() if each is not None}

"""Rounds as plain data. Like dataclasses.asdict, but without copying every number: it runs once a round while decoding."""

from __future__ import annotations

from typing import Any

from .trace import TraceBranch, TraceRound, TraceSeen, TraceSpan


def round_data(each: TraceRound) -> dict[str, Any]:
    """A round in the trace format; its rows are shared with it, not copied."""
    return fields_of(each) | {
        "branches": [branch_data(branch) for branch in each.branches],
        "spans": [fields_of(span) for span in each.spans],
    }


def branch_data(branch: TraceBranch) -> dict[str, Any]:
    return fields_of(branch) | {"seen": branch.seen and fields_of(branch.seen)}


def fields_of(part: TraceRound | TraceBranch | TraceSeen | TraceSpan) -> dict[str, Any]:
    return {name: getattr(part, name) for name in part.__slots__}

"""Older trace files made into the newest version, step by step, as plain JSON data before it is checked.

Version 1 (2026-11) recorded the predictions of each round's winner only, no devices and no whole-sequence texts.
Version 2 (2026-11) knew neither slots that were taken back nor drafts of several tokens nor superposed copies, and
one token at most that ends a text.
"""

from __future__ import annotations

from typing import Any

VERSION = 3
SEEN = ("slots", "tokens", "probabilities")


def upgrade(raw: dict[str, Any]) -> dict[str, Any]:
    """`raw` as a file of VERSION; of the same or a newer version it is returned as it is.

    Raises KeyError, TypeError or AttributeError where an old file lacks a part or has one of another kind.
    """
    if raw["version"] == 1:
        raw = raw | {"version": 2, "traces": [trace_to_2(trace) for trace in raw["traces"]]}
    if raw["version"] == 2:
        raw = raw | {"version": 3, "traces": [trace_to_3(trace) for trace in raw["traces"]]}
    return raw


def trace_to_2(trace: dict[str, Any]) -> dict[str, Any]:
    special = [] if trace["eos_id"] is None else [trace["eos_id"]]
    return trace | {"rounds": [round_to_2(each) for each in trace["rounds"]], "devices": [trace["hardware"]], "special": special}


def trace_to_3(trace: dict[str, Any]) -> dict[str, Any]:
    """Taken-back slots, drafts and copies were never there; a text had one token that ends it at most."""
    ends = [] if trace["eos_id"] is None else [trace["eos_id"]]
    return {name: value for name, value in trace.items() if name != "eos_id"} | {"end_ids": ends}


def round_to_2(old: dict[str, Any]) -> dict[str, Any]:
    """The winner's predictions move into its branch; those of the others were never recorded."""
    seen = {name: old[name] for name in SEEN}
    branches = [branch | {"seen": seen if index == old["winner"] else None} for index, branch in enumerate(old["branches"])]
    return {name: value for name, value in old.items() if name not in SEEN} | {"branches": branches}

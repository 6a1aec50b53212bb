"""Processes of this system, by what /proc says of them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def statuses() -> dict[int, tuple[int, str]]:
    """{process: (its parent, its state)} of this system."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            state, parent, *_ = path.read_text().rpartition(")")[2].split()
            found[int(path.parent.name)] = int(parent), state
    return found


def descendants(process: int) -> set[int]:
    """The processes that a process has started, and those they have."""
    found, every = {process}, statuses()
    while more := {each for each, (parent, _) in every.items() if parent in found} - found:
        found |= more
    return found - {process}


def ended(processes: Iterable[int], seconds: float = 20.0) -> bool:
    """Whether all of them end within so many seconds."""
    deadline = time.monotonic() + seconds
    while any(statuses().get(each, (0, "X"))[1] not in "ZX" for each in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True

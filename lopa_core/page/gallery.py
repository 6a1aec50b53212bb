"""Recorded runs: those shipped in assets/replays, and what a visitor uploads. Nothing is ever fetched from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from ..trace.check import TraceError
from ..trace.files import read
from ..trace.trace import Trace
from .shelf import PageError

REPLAYS = Path(__file__).resolve().parents[2] / "assets" / "replays"
FIRST = "zoo-tickets"  # what is on screen before anything was run
NAME = re.compile(r"[a-z0-9-]{1,60}")


def names() -> list[str]:
    """The recordings on disk, the first one first."""
    found = sorted(path.stem for path in REPLAYS.glob("*.json"))
    return sorted(found, key=lambda name: name != FIRST)


def title(name: str) -> str:
    return name.replace("-", " ").capitalize()


def recording(name: str) -> tuple[Trace, ...]:
    """The traces of a recording by its name. Raises PageError."""
    if not NAME.fullmatch(name) or name not in names():
        raise PageError(f"There is no recording {name[:60]!r} here: take one of {', '.join(names())}.")
    return read(REPLAYS / f"{name}.json")


def uploaded(path: str | Path) -> tuple[Trace, ...]:
    """The traces in a visitor's file. Raises PageError with a sentence that does not name the server's folders."""
    try:
        return read(path)
    except TraceError as error:
        raise PageError(str(error).replace(str(path), Path(path).name)) from None

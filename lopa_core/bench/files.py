"""Reports on disk: JSON files that say what they are, and of which version."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class ReportError(ValueError):
    """A report that cannot be used; the message is for a person."""


def load(path: Path, kind: str, version: int, make: str) -> dict[str, Any]:
    """The JSON object in a file that says it is a `kind` of this version. make: the command that makes one. Raises ReportError."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ReportError(f"There is no {path.name}: make it with {make}.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ReportError(f"{path.name} cannot be read: {type(error).__name__}.") from None
    if not isinstance(told, dict) or (told.get("format"), told.get("version")) != (kind, version):
        raise ReportError(f"{path.name} is no {kind} report of version {version}: make it with {make}.")
    return told


def save(told: dict[str, Any], path: Path) -> None:
    write(json.dumps(told, indent=1) + "\n", path)


def write(text: str, path: Path) -> None:
    """Whole or not at all: whoever is interrupted keeps the file from before."""
    beside = path.with_name(f"{path.name}.part")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def number(value: Any, low: float = 0.0, high: float = 1e12) -> bool:
    """Whether it is a number in this range; true, NaN and infinity are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high

"""What a benchmark of decoders leaves behind: a JSON file with what was run where, and a row of numbers per decoder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..decode.settings import DecodeSettings
from .accuracy import Result

FORMAT, VERSION = "lopa-bench", 1
NUMBERS = (
    "problems", "accuracy", "accuracy_low", "accuracy_high", "tpf", "rounds", "branch_forwards", "extra_tokens", "seconds",
)  # fmt: skip


def report(task: str, model: str, hardware: str, settings: DecodeSettings, seed: int, results: Sequence[Result]) -> dict[str, Any]:
    """settings: those that all decoders start from; seed: the problems'. A row says in which settings its decoder differs."""
    base = asdict(settings)
    rows = [
        result.as_dict() | {"changes": {name: value for name, value in asdict(result.settings).items() if base[name] != value}}
        for result in results
    ]
    return {
        "format": FORMAT, "version": VERSION, "task": task, "model": model, "hardware": hardware, "seed": seed,
        "recorded": datetime.now(UTC).isoformat(timespec="seconds"), "settings": base, "results": rows,
    }  # fmt: skip


def save(told: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


class ReportError(ValueError):
    """A report that cannot be read; the message is for a person."""


def read(path: Path) -> dict[str, Any]:
    """A report of this version, the numbers of every row checked. Raises ReportError."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ReportError(f"There is no {path.name}: make it with python -m lopa_core bench --decoders all --out FILE.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ReportError(f"{path.name} cannot be read: {type(error).__name__}.") from None
    if not isinstance(told, dict) or (told.get("format"), told.get("version")) != (FORMAT, VERSION):
        raise ReportError(f"{path.name} is no report of a benchmark of version {VERSION}.")
    rows = told.get("results")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and sound(row) for row in rows):
        raise ReportError(f"{path.name} is damaged: a row lacks a number.")
    if not all(isinstance(told.get(name), str) for name in ("model", "hardware", "recorded", "task")):
        raise ReportError(f"{path.name} is damaged: it does not say what was run where.")
    return told


def sound(row: dict[str, Any]) -> bool:
    numbers = [row.get(name) for name in NUMBERS]
    whole = all(isinstance(each, (int, float)) and not isinstance(each, bool) and 0 <= each < 1e12 for each in numbers)
    return isinstance(row.get("decoder"), str) and whole and row["problems"] >= 1

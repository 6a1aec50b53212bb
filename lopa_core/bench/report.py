"""What a benchmark of decoders leaves behind: a JSON file with what was run where, and a row of numbers per decoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..decode.settings import DecodeSettings
from .accuracy import Result
from .files import ReportError, load, number

FORMAT, VERSION = "lopa-bench", 1
MAKE = "python -m lopa_core bench --decoders all --out FILE"
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


def read(path: Path) -> dict[str, Any]:
    """A report of this version, the numbers of every row checked. Raises ReportError."""
    told = load(path, FORMAT, VERSION, MAKE)
    rows = told.get("results")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and sound(row) for row in rows):
        raise ReportError(f"{path.name} is damaged: a row lacks a number.")
    if not all(isinstance(told.get(name), str) for name in ("model", "hardware", "recorded", "task")):
        raise ReportError(f"{path.name} is damaged: it does not say what was run where.")
    return told


def sound(row: dict[str, Any]) -> bool:
    return isinstance(row.get("decoder"), str) and all(number(row.get(name)) for name in NUMBERS) and row["problems"] >= 1

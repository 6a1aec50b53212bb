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

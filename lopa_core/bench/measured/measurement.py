"""A measurement: the command that makes a result, the file that keeps it, and how a document shows it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
ASSETS = ROOT / "assets"
MEASURED = "measured"  # the key under which a stored result says how it was made; everything else is what its command printed
Result = Mapping[str, Any]
Part = Callable[[Result], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """command: what `python -m` runs; parts: by name, Markdown made of its result; trial: flags of its smallest run;
    file: below the folder of results, where it is read by others as well."""

    name: str
    command: str
    parts: Mapping[str, Part]
    trial: Mapping[str, str] = field(default_factory=dict)
    file: str = ""

    @property
    def path(self) -> str:
        """Of the stored result, below the folder of results."""
        return self.file or f"{MEASURED}/{self.name}.json"

    def typed(self, limit: int | None = None) -> str:
        """The command as a person types it. limit: of a trial, the number of problems; everything else at its smallest."""
        return f"python -m {shlex.join(self.words(limit))}"

    def argv(self, limit: int | None = None) -> list[str]:
        """What Python is given to print one JSON object."""
        words = self.words(limit)
        return ["-m", *words, *(["--json"] if words[0] == "lopa_core" else [])]  # a script below tests/ prints nothing else

    def words(self, limit: int | None) -> list[str]:
        words = shlex.split(self.command)
        for flag, value in self.trial.items() if limit else ():
            value = str(limit) if flag == "--limit" else value
            if flag in words:
                words[words.index(flag) + 1] = value
            else:
                words += [flag, value]
        return words

"""What an evaluation comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .journal import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """answers: one a question. right: by way of scoring, whether each answer is; the first way is the accuracy; empty: not judged.

    solutions: of a benchmark of code, in the format that evalplus reads. notes: what a reader of the numbers has to know.
    """

    answers: Sequence[Answer]
    right: dict[str, list[bool]]
    solutions: Sequence[dict[str, str]] = ()
    notes: list[str] = field(default_factory=list)

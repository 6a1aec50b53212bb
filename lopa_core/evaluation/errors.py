"""The exception of this room, and what is said where an optional package is missing."""

from __future__ import annotations

from importlib.util import find_spec

INSTALL = 'pip install "lm-eval[math]" evalplus -c constraints.txt'


class EvaluationError(ValueError):
    """A benchmark that cannot be run or read; the message is a sentence for a person and says what would do."""


def need(package: str, why: str) -> None:
    """Raise EvaluationError unless an optional package is installed. why: what it is needed for, such as "The task math"."""
    if find_spec(package) is None:
        raise EvaluationError(f"{why} needs {package}, which is not installed: {INSTALL}.")

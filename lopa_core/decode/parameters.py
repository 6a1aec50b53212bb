"""Fields of the settings that know their range, their choices and the words that explain them.

One declaration per parameter: what checks it, and what the command line offers and says, are read from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields
from typing import Any


class SettingsError(ValueError):
    """A setting out of its range, or a prompt that cannot be decoded; the message is for a person."""


def count(default: int | None, low: int, high: int, text: str) -> Any:
    """A whole number from `low` to `high`; may be None if that is its default."""
    return field(default=default, metadata={"range": (low, high), "whole": True, "help": text})


def number(default: float, low: float, high: float, text: str) -> Any:
    """Any number from `low` to `high`."""
    return field(default=default, metadata={"range": (low, high), "whole": False, "help": text})


def share(default: float, text: str) -> Any:
    """A probability, a threshold or a weight: 0 to 1."""
    return number(default, 0.0, 1.0, text)


def choice(default: str, allowed: Sequence[str], text: str) -> Any:
    return field(default=default, metadata={"choices": tuple(allowed), "help": text})


def switch(default: bool, text: str) -> Any:
    return field(default=default, metadata={"help": text})


def check(settings: Any) -> None:
    """Raise SettingsError at the first field whose value is not what it was declared to be."""
    for each in fields(settings):
        value = getattr(settings, each.name)
        if "choices" in each.metadata and value not in each.metadata["choices"]:
            raise SettingsError(f"{each.name} must be one of {', '.join(each.metadata['choices'])}, not {value!r}.")
        if "range" in each.metadata and not (value is None is each.default):
            low, high = each.metadata["range"]
            numeric = int if each.metadata["whole"] else (int, float)
            if isinstance(value, bool) or not isinstance(value, numeric) or not low <= value <= high:
                kind = f"be a whole number from {low} to {high}" if each.metadata["whole"] else f"lie between {low:g} and {high:g}"
                raise SettingsError(f"{each.name} must {kind}, not {value!r}.")

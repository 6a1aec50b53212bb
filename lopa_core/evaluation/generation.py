"""What a task of lm-evaluation-harness asks of an answer: its generation_kwargs, whose values may come as texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import EvaluationError

LENGTHS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")  # the harness's names, the first one counts
YES, NO = ("true", "yes", "1"), ("false", "no", "0", "none", "")


def generation(told: Mapping[str, Any], task: str) -> tuple[tuple[str, ...], int | None]:
    """Stop strings, and the most tokens of an answer, None where nothing is said.

    Raises EvaluationError for a task that samples its answers, and for values that mean nothing.
    """
    if samples(told, task):
        raise EvaluationError(f"The task {task} samples its answers, which is not supported: take a greedy one.")
    name = next((each for each in LENGTHS if told.get(each) is not None), None)
    return stop_strings(told.get("until"), task), None if name is None else whole_number(told[name], name, task)


def samples(told: Mapping[str, Any], task: str) -> bool:
    """Whether answers are sampled, by the harness's own rule: a temperature alone says so as well."""
    asked = told.get("do_sample")
    word = str(asked).strip().lower()
    if word not in (*YES, *NO):
        raise EvaluationError(f"The task {task} has a do_sample of {asked!r}: take true or false.")
    return word in YES or asked is None and number(told.get("temperature") or 0, "temperature", task) > 0


def stop_strings(until: Any, task: str) -> tuple[str, ...]:
    """Those that stop anything: an empty one would end every answer before it begins."""
    each = (until,) if isinstance(until, str) else tuple(until) if isinstance(until, (list, tuple)) else ()
    if until is not None and not isinstance(until, (str, list, tuple)) or not all(isinstance(text, str) for text in each):
        raise EvaluationError(f"The task {task} has until: {until!r}: take a text, or a list of texts.")
    return tuple(text for text in each if text)


def whole_number(value: Any, name: str, task: str) -> int:
    amount = number(value, name, task)
    if not 1 <= amount <= 10**9 or amount != int(amount):
        raise EvaluationError(f"The task {task} has {name}: {value!r}: take a whole number of 1 or more.")
    return int(amount)


def number(value: Any, name: str, task: str) -> float:
    """A number, or a text that spells one."""
    try:
        if not isinstance(value, bool):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise EvaluationError(f"The task {task} has {name}: {value!r}, which is no number.")

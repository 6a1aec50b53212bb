"""A problem with a checkable answer, and how an answer is read from what a model wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass

# At most 9 digits, since a model may babble; 1.5 and 1,000 are not whole numbers written our way.
_NUMBER = re.compile(r"\s*(-?\d{1,9})(?![\w.,]*\d)")
_WORDS = re.compile(r"\s*([a-z]{1,20}(?:, [a-z]{1,20}){0,63})\s*(?:\n|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """question: what a model is asked. solution: a worked one, which ends with `#### answer`.

    any_other_order: the answer is right in any order of its words but that of the question.
    """

    question: str
    solution: str
    answer: str
    family: str
    any_other_order: tuple[str, ...] = ()


def parse_answer(text: str) -> str | None:
    """The whole number or the words with commas between them behind the last "####"; None where there are none."""
    _, mark, tail = text.rpartition("####")
    number = _NUMBER.match(tail) if mark else None
    if number:
        return str(int(number[1]))
    words = _WORDS.match(tail) if mark else None
    return words[1] if words else None


def is_correct(text: str, problem: Problem) -> bool:
    """Whether the answer in `text` is right."""
    answer = parse_answer(text)
    if answer is None or not problem.any_other_order:
        return answer == problem.answer
    words = tuple(answer.split(", "))
    return sorted(words) == sorted(problem.any_other_order) and words != problem.any_other_order

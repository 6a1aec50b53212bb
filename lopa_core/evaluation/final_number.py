"""The number that an answer comes to: behind GSM8K's mark (####), in the last box, or else the last one of the text."""

from __future__ import annotations

import re
from decimal import Decimal

from .boxes import boxes
from .numbers import numbers, typed

MARK = "####"
TAIL = re.compile(r"#{4,}[ \t]*([^\n#]*)")
ALONE = re.compile(r"\s*\n\s*([^\n]*)")
# What may stand between the mark and its number: signs of Markdown and LaTeX, "The final answer is:", a variable, a sum.
LEAD = re.compile(
    r"""(?: [\s*`~≈:=>(\[{] | \\[(\[] | \$(?!\d) | \\(?:boxed|fbox|text|mathbf|textbf)\b | [-+*/×÷x\d.,()$\ ]+=
        | \b(?:the|final|answer|total|is|about|[A-Za-z](?=\s*=))\b )*""",
    re.IGNORECASE | re.VERBOSE,
)
ENUMERATED = re.compile(r"[*_]*[.):]\s*\S*[^\W\d]")
SHORT = re.compile(r"[^\w#]*(?:[^\W\d]+[^\w#]*){0,2}")
NEXT_QUESTION = re.compile(r"(?<![A-Za-z])(?:Question|Problem|Q)(?: ?\d+)?:")
ANSWERED = re.compile(r"####|\\boxed|\\fbox|answer", re.IGNORECASE)


def number(text: str) -> Decimal | None:
    """The number that a text comes to; None where it has none. 1,008 is 1008."""
    text = typed(text)
    answered = ANSWERED.search(text)
    question = answered and NEXT_QUESTION.search(text, answered.end())
    text = text[: question.start()] if question else text  # the model has gone on to a question of its own
    for way in (marked, boxed, last):
        if (found := way(text)) is not None:
            return found
    return None


def marked(text: str) -> Decimal | None:
    """The number behind the last mark of a typed() text that has one; marks are also used as headings, and as a rule with nothing behind.

    A heading is a mark with words behind it, a place of a list ("#### 2. Money"), or one with a whole sentence behind a number
    when more numbers follow further down.
    """
    marks = [(tail, match.end()) for match in TAIL.finditer(text) if (tail := behind(text, match))]
    below = False  # whether a heading stands below
    for place, (tail, end) in reversed(list(enumerate(marks, start=1))):
        start = LEAD.match(tail).end()
        first = next(iter(numbers(tail[start:])), None)
        if first is None or first.start or ENUMERATED.match(tail, start + first.end) and first.value == place:
            below = True
            continue
        alone = SHORT.fullmatch(tail, start + first.end)
        if alone or not below and (len(marks) == 1 or not re.search(r"\d", text[end:])):
            return first.value
        below = True
    return None


def behind(text: str, mark: re.Match[str]) -> str:
    """The rest of a mark's line, or where that is empty a number that stands alone on the next."""
    if mark[1].strip():
        return mark[1]
    following = ALONE.match(text, mark.end())
    line = following[1] if following else ""
    return line if (found := numbers(line)) and not found[0].start and SHORT.fullmatch(line, found[0].end) else ""


def boxed(text: str) -> Decimal | None:
    """The number in the last box that has one, behind its last equals sign."""
    for box in reversed(boxes(text)):
        if found := numbers(re.split(r"=|\\approx|≈", box.content or "")[-1]):
            return found[0].value
    return None


def last(text: str) -> Decimal | None:
    found = numbers(text)
    return found[-1].value if found else None

"""GSM8K without examples: the question alone, in the model's own prompt, and the last number of the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from .documents import Document
from .errors import EvaluationError
from .journal import Request
from .scores import Scores
from .writer import Writer

MARK = "####"
NUMBER = re.compile(r"(?<!\d)-?\$?\d[\d,]*(?:\.\d+)?")


def run(documents: Sequence[Document], writer: Writer) -> Scores:
    """Ask and score all questions. Raises EvaluationError where a solution has no number."""
    targets = [target(document, place) for place, document in enumerate(documents)]
    answers = writer.write([Request(key=f"gsm8k/{place}", prompt=document["question"]) for place, document in enumerate(documents)])
    return Scores(answers=answers, right={"last number": [number(each.text) == wanted for each, wanted in zip(answers, targets)]})


def target(document: Document, place: int) -> Decimal:
    """The number that GSM8K's own solutions end with, behind ####."""
    found = number(document["answer"]) if MARK in document["answer"] else None
    if found is None:
        raise EvaluationError(f"Question {place + 1} is none of GSM8K: its answer does not end with {MARK} and a number.")
    return found


def number(text: str) -> Decimal | None:
    """The number behind the last ####, or where there is none the last number; None where there is no number. 1,008 is 1008."""
    _, mark, tail = text.rpartition(MARK)
    found = NUMBER.findall(tail)
    if not found:
        return None
    return Decimal((found[0] if mark else found[-1]).replace(",", "").replace("$", ""))

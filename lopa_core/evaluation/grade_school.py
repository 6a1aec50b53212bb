"""GSM8K without examples: the question alone, in the model's own prompt, and the number that the answer comes to."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from .documents import Document
from .errors import EvaluationError
from .final_number import MARK, marked, number
from .journal import Request
from .numbers import typed
from .scores import Scores
from .writer import Writer


def run(documents: Sequence[Document], writer: Writer) -> Scores:
    """Ask and score all questions. Raises EvaluationError where a solution has no number."""
    targets = [target(document, place) for place, document in enumerate(documents)]
    answers = writer.write([Request(key=f"gsm8k/{place}", prompt=document["question"]) for place, document in enumerate(documents)])
    return Scores(answers=answers, right={"last number": [number(each.text) == wanted for each, wanted in zip(answers, targets)]})


def target(document: Document, place: int) -> Decimal:
    """The number that GSM8K's own solutions end with, behind ####."""
    found = marked(typed(document["answer"]))
    if found is None:
        raise EvaluationError(f"Question {place + 1} is none of GSM8K: its answer does not end with {MARK} and a number.")
    return found

"""The questions of a benchmark: from a file in the dataset's own format (JSON lines), or from the Hub."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from ..io.reading import MARK as BYTE_ORDER_MARK
from ..io.reading import EncodingError, decode_text
from .benchmarks import Benchmark
from .boxes import with_braces
from .errors import EvaluationError, need
from .final_number import MARK, marked
from .numbers import typed

Document = dict[str, Any]
LARGEST_FILE = 2**29  # bytes; HumanEval+ has some 50 MB


def read_documents(benchmark: Benchmark, path: Path | None = None, *, left_out: list[str] | None = None) -> list[Document]:
    """All questions that can be asked and scored.

    Args:
        benchmark: whose they are.
        path: a file; None: from the Hub.
        left_out: gets a sentence for each question that cannot.

    Raises:
        EvaluationError: the questions cannot be read, or none of them can be asked and scored.
    """
    rows = from_hub(benchmark) if path is None else from_file(path)
    documents: list[Document] = []
    refusals: list[EvaluationError] = []
    keys = set()
    for place, row in enumerate(rows, start=1):
        try:
            document = checked(benchmark, place, row)
            if document.get("task_id", place) in keys:
                raise EvaluationError(f"Question {place} is called {document['task_id']}, as one before it.")
        except EvaluationError as error:
            refusals.append(error)
            continue
        keys.add(document.get("task_id", place))
        documents.append(document)
    if refusals and not documents:
        raise refusals[0]
    if not documents:
        raise EvaluationError(f"There are no questions in {path or benchmark.repository}.")
    if left_out is not None:
        left_out += map(str, refusals)
    return documents


def from_file(path: Path) -> list[Any]:
    """What the lines of a file hold; of a line that is no JSON, the text."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise EvaluationError(f"{path.name} is larger than {LARGEST_FILE // 2**20} MB, which no benchmark is.")
        lines = decode_text(path.read_bytes()).split("\n")
    except OSError as error:
        raise EvaluationError(f"{path} cannot be read: {error.strerror}.") from None
    except EncodingError as error:
        raise EvaluationError(f"{path} {error} (if it is packed, unpack it first).") from None
    lines = [line.removeprefix(BYTE_ORDER_MARK) for line in lines]  # joined files have one in the middle
    return [parsed(line) for line in lines if line.strip()]


def parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line


def from_hub(benchmark: Benchmark) -> Iterable[Any]:
    """The questions of the Hub's dataset; of one in parts, a question of each part in turn, so that a few are of all parts."""
    if benchmark.repository is None:
        raise EvaluationError(f"{benchmark.title} comes from a file: give evalplus' HumanEvalPlus.jsonl or MbppPlus.jsonl as --data.")
    need("datasets", f"Loading {benchmark.title} from the Hub")
    from datasets import load_dataset

    try:
        pieces = [load_dataset(benchmark.repository, part, split=split) for part in benchmark.parts for split in benchmark.splits]
    except (OSError, ValueError) as error:  # ConnectionError and FileNotFoundError are OSErrors
        reason = str(error).split("\n")[0][:200]
        raise EvaluationError(
            f"{benchmark.title} cannot be loaded from the Hub ({reason}): check the network, or give --data FILE."
        ) from None
    if len(benchmark.parts) == 1:
        return chain(*pieces)
    return (each for row in zip_longest(*pieces) for each in row if each is not None)


def checked(benchmark: Benchmark, place: int, document: Any) -> Document:
    """A question that has what its benchmark asks for, all of it text that can be encoded. Raises EvaluationError."""
    if isinstance(document, str):
        raise EvaluationError(f"Question {place} is no JSON: give a file of JSON lines, one question, a JSON object, a line.")
    if not isinstance(document, dict):
        raise EvaluationError(f"Question {place} is no JSON object.")
    for name, kind in benchmark.fields.items():
        value = document.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            words = {str: "a text", int: "a whole number", list: "a list"}[kind]
            raise EvaluationError(f"Question {place} is none of {benchmark.title}: it has no {name} that is {words}.")
        if isinstance(value, str) and not encodable(value):
            raise EvaluationError(f"Question {place}: its {name} is not valid Unicode text.")
    return scorable(benchmark, place, document)


def scorable(benchmark: Benchmark, place: int, document: Document) -> Document:
    """A question whose solution says what is right, in the form in which it is read."""
    if benchmark.key == "gsm8k" and marked(typed(document["answer"])) is None:
        raise EvaluationError(f"Question {place} is none of GSM8K: its answer has no {MARK} with a number, so no answer could be right.")
    if benchmark.key == "math":
        solution = with_braces(document["solution"])
        if solution is None:
            raise EvaluationError(f"Question {place} is none of MATH: its solution has no box with an answer, so no answer could be right.")
        return document | {"solution": solution}
    return document


def encodable(text: str) -> bool:
    """Whether it has no half of a surrogate pair, which JSON can spell."""
    return not any("\ud800" <= character <= "\udfff" for character in text)

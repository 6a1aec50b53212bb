"""The questions of a benchmark: from a file in the dataset's own format (JSON lines), or from the Hub."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from ..io.reading import MARK, EncodingError, decode_text
from .benchmarks import Benchmark
from .errors import EvaluationError, need

Document = dict[str, Any]
LARGEST_FILE = 2**29  # bytes; HumanEval+ has some 50 MB


def read_documents(benchmark: Benchmark, path: Path | None = None) -> list[Document]:
    """All questions, checked. path: a file; None: from the Hub. Raises EvaluationError."""
    found = from_hub(benchmark) if path is None else from_file(path)
    documents = [checked(benchmark, place, each) for place, each in enumerate(found, start=1)]
    if not documents:
        raise EvaluationError(f"There are no questions in {path or benchmark.repository}.")
    return documents


def from_file(path: Path) -> list[Any]:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise EvaluationError(f"{path.name} is larger than {LARGEST_FILE // 2**20} MB, which no benchmark is.")
        lines = decode_text(path.read_bytes()).split("\n")
    except OSError as error:
        raise EvaluationError(f"{path} cannot be read: {error.strerror}.") from None
    except EncodingError as error:
        raise EvaluationError(f"{path} {error} (if it is packed, unpack it first).") from None
    try:
        lines = [line.removeprefix(MARK) for line in lines]  # joined files have a mark in the middle
        return [json.loads(line) for line in lines if line.strip()]
    except (ValueError, RecursionError):
        raise EvaluationError(f"{path} is no file of JSON lines: give one question, a JSON object, a line.") from None


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
    """A question that has what its benchmark asks for, all of it text that can be encoded."""
    if not isinstance(document, dict):
        raise EvaluationError(f"Question {place} is no JSON object.")
    for name, kind in benchmark.fields.items():
        value = document.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            words = {str: "a text", int: "a whole number", list: "a list"}[kind]
            raise EvaluationError(f"Question {place} is none of {benchmark.title}: it has no {name} that is {words}.")
        if isinstance(value, str) and not encodable(value):
            raise EvaluationError(f"Question {place}: its {name} is not valid Unicode text.")
        if benchmark.marks.get(name, "") not in (value if isinstance(value, str) else ""):
            raise EvaluationError(
                f"Question {place} is none of {benchmark.title}: its {name} has no {benchmark.marks[name]}, so no answer could be right."
            )
    return document


def encodable(text: str) -> bool:
    """Whether it has no half of a surrogate pair, which JSON can spell."""
    return not any("\ud800" <= character <= "\udfff" for character in text)

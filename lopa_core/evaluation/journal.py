"""The answers of an evaluation as they come, a JSON line each behind a line that says what was run: an interrupted one goes on."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ..io.writing import WriteError, append, write_text
from ..trace.metrics import Metrics
from .errors import EvaluationError

LOG = logging.getLogger(__name__)
FORMAT, VERSION = "lopa-samples", 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question as it is asked. key: of the question. until: stop strings. longest: tokens of the answer, at most.

    repeat: which of several samples of its answer, from 0.
    """

    key: str
    prompt: str
    until: tuple[str, ...] = ()
    longest: int | None = None
    repeat: int = 0

    @property
    def name(self) -> str:
        """The key, and which sample."""
        return f"{self.key}#{self.repeat}" if self.repeat else self.key

    @property
    def fingerprint(self) -> str:
        """Tells another question of the same key."""
        return hashlib.sha256(json.dumps([self.prompt, self.until, self.longest]).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was written, cut at the first stop string, and what it took."""

    text: str
    metrics: Metrics


class Journal:
    """A file of answers. told: what was run, as JSON data. Raises EvaluationError, WriteError.

    Without `resume` there must be no such file; with it, what is in there must be of the same run.
    Answers that the disk does not take now stay in memory, and are tried again with the next one.
    """

    def __init__(self, path: Path, told: dict[str, Any], *, resume: bool = False) -> None:
        self.path, self.known, self.waiting = path, {}, ""
        head = {"format": FORMAT, "version": VERSION} | told
        if not path.exists():
            write_text(path, json.dumps(head) + "\n")
        elif resume:
            self.read(head)
        else:
            raise EvaluationError(f"{path} is there already: give --resume to go on with it, or another --out.")

    def read(self, head: dict[str, Any]) -> None:
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]  # the last line may be torn
        found, *rows = [self.parse(line, number) for number, line in enumerate(whole.splitlines(), start=1)] or [{}]
        differing = sorted(name for name in head.keys() | found.keys() if head.get(name) != found.get(name))
        if differing:
            raise EvaluationError(f"{self.path} is of another run ({', '.join(differing)}): give the same again, or another --out.")
        for number, row in enumerate(rows, start=2):
            self.known[row.get("key")] = self.answer(row, number)
        if len(whole) < len(data):
            os.truncate(self.path, len(whole))

    def parse(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise self.damaged(number)
        return row

    def answer(self, row: dict[str, Any], number: int) -> tuple[str, Answer]:
        """(fingerprint, answer) of a line."""
        text, metrics, mark = row.get("text"), row.get("metrics"), row.get("prompt")
        names = {field.name for field in fields(Metrics)}
        if not (isinstance(text, str) and isinstance(mark, str) and isinstance(metrics, dict) and metrics.keys() == names):
            raise self.damaged(number)
        if not all(isinstance(value, (int, float)) and 0 <= value < 1e12 for value in metrics.values()):
            raise self.damaged(number)
        return mark, Answer(text=text, metrics=Metrics(**metrics))

    def damaged(self, number: int) -> EvaluationError:
        return EvaluationError(f"{self.path} is damaged at line {number}: give another --out.")

    def find(self, request: Request) -> Answer | None:
        """The answer to this very question, if it is there."""
        mark, answer = self.known.get(request.name, (request.fingerprint, None))
        if mark != request.fingerprint:
            raise EvaluationError(
                f"{self.path} has an answer to another question {request.name}: give the same --data again, or another --out."
            )
        return answer

    def add(self, request: Request, answer: Answer) -> None:
        row = {"key": request.name, "prompt": request.fingerprint, "text": answer.text, "metrics": asdict(answer.metrics)}
        self.waiting += json.dumps(row) + "\n"
        self.known[request.name] = request.fingerprint, answer
        try:
            self.flush()
        except WriteError as error:
            LOG.warning("%s The evaluation goes on; make room, and the next answer is saved with all before it.", error)

    def flush(self) -> None:
        """Save the answers that are in memory alone. Raises WriteError."""
        if self.waiting:
            append(self.path, self.waiting)
        self.waiting = ""

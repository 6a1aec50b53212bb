"""A benchmark from its questions to a report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..bench.accuracy import interval
from ..io.writing import write_text
from ..trace.metrics import total
from . import grade_school, programs
from .benchmarks import Benchmark
from .documents import Document
from .errors import EvaluationError, need
from .scores import Scores
from .writer import Writer

FORMAT, VERSION = "lopa-evaluation", 1
MOST_REASONS = 3  # of questions left out, in a note


def run(
    benchmark: Benchmark, documents: Sequence[Document], writer: Writer, *, shots: int, limit: int | None = None,
    execute: bool = False, trusted: bool = False,
) -> Scores:  # fmt: skip
    """Ask and score. shots: solved examples before a question. limit: of questions. execute: whether the model's programs may be run.

    trusted: whether they may be run without a container where there is none. Raises EvaluationError, also where an optional package
    is missing.
    """
    check(benchmark, shots, execute)
    examples, asked = programs.split(documents, shots) if benchmark.key == "mbpp" else ((), documents)
    documents = asked[:limit]
    if benchmark.code:
        return programs.run(benchmark, documents, writer, examples, execute=execute, trusted=trusted)
    if benchmark.key == "gsm8k" and not shots:
        return grade_school.run(documents, writer)
    from . import harness

    return harness.run(benchmark.harness, documents, writer, shots)


def check(benchmark: Benchmark, shots: int, execute: bool) -> None:
    """Raise EvaluationError for what cannot be run here, before anything large is loaded."""
    if not 0 <= shots <= 64:
        raise EvaluationError(f"--shots must lie between 0 and 64, not {shots}.")
    if shots and not benchmark.shots:
        raise EvaluationError(f"{benchmark.title} is asked without examples: leave out --shots.")
    if benchmark.harness and (shots or benchmark.key != "gsm8k"):
        need("lm_eval", "GSM8K with examples (--shots 0 goes without)" if benchmark.key == "gsm8k" else benchmark.title)
    if benchmark.key == "math":
        need("math_verify", benchmark.title)
    if benchmark.key.endswith("+") and execute:
        need("evalplus", benchmark.title)


def report(benchmark: Benchmark, scores: Scores, writer: Writer, *, shots: int, left_out: Sequence[str] = ()) -> dict[str, Any]:
    """As JSON data: what was run where, the numbers as in trace.metrics, the accuracy in percent with its 95 % interval, or None.

    left_out: a sentence for each question that could not be asked.
    """
    count = len(scores.answers)
    told = {
        "format": FORMAT, "version": VERSION, "task": benchmark.key, "model": writer.model.name, "commit": writer.model.commit,
        "hardware": writer.model.hardware, "recorded": datetime.now(UTC).isoformat(timespec="seconds"), "decoder": writer.decoder,
        "settings": asdict(writer.settings), "shots": shots, "chat": writer.chat, "in_flight": writer.in_flight, "questions": count,
        "left_out": len(left_out),
    }  # fmt: skip
    by_way = {way: percent(verdicts) for way, verdicts in scores.right.items()}
    first = next(iter(by_way.values()), {"accuracy": None, "accuracy_low": None, "accuracy_high": None})
    told |= first | {"scores": by_way, "notes": [*scores.notes, *odd(left_out)]}
    return told | total(each.metrics for each in scores.answers).as_dict()


def odd(left_out: Sequence[str]) -> list[str]:
    """A note on the questions left out, the first few by their reasons."""
    if not left_out:
        return []
    more = f" And {len(left_out) - MOST_REASONS} more." if len(left_out) > MOST_REASONS else ""
    return [f"Questions left out: {len(left_out)}. {' '.join(left_out[:MOST_REASONS])}{more}"]


def percent(verdicts: Sequence[bool]) -> dict[str, float]:
    low, high = interval(sum(verdicts), len(verdicts))
    return {"accuracy": 100 * sum(verdicts) / len(verdicts), "accuracy_low": 100 * low, "accuracy_high": 100 * high}


def save(told: dict[str, Any], scores: Scores, path: Path) -> None:
    """The report with a verdict per question. Raises WriteError."""
    write_text(path, json.dumps(told | {"right": scores.right}, indent=1) + "\n")


def save_solutions(scores: Scores, path: Path) -> None:
    """The programs, a JSON line each, as evalplus.evaluate reads them; no file where there are none. Raises WriteError."""
    if scores.solutions:
        write_text(path, "".join(json.dumps(each) + "\n" for each in scores.solutions))


def companion(report: Path, ending: str) -> Path:
    """The file of this ending that goes with a report, such as gsm8k.samples.jsonl with gsm8k.json; a dot in its name ends nothing."""
    return report.with_name((report.stem if report.suffix == ".json" else report.name) + ending)

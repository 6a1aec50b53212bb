"""Traces as files: one versioned JSON object, every field checked when it is read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from .trace import Trace

FORMAT, VERSION = "lopa-trace", 1
LARGEST_FILE = 64 * 2**20  # bytes; 512 tokens x 8 branches take about 2 MB


class TraceError(ValueError):
    """A file that is no trace; the message is for a person."""


@dataclass(frozen=True, slots=True)
class TraceFile:
    """What a file holds: the traces of one prompt, one per decoder."""

    format: str
    version: int
    traces: tuple[Trace, ...]


_ADAPTER = TypeAdapter(TraceFile)


def dumps(traces: list[Trace] | tuple[Trace, ...]) -> str:
    """The JSON text of a trace file."""
    return json.dumps(asdict(TraceFile(FORMAT, VERSION, tuple(traces))), ensure_ascii=False, separators=(",", ":"))


def loads(text: str | bytes) -> tuple[Trace, ...]:
    """Read `dumps`. Raises TraceError for anything that is not such a file, or contradicts itself."""
    if len(text) > LARGEST_FILE:
        raise TraceError(f"The trace is larger than {LARGEST_FILE // 2**20} MB.")
    try:
        raw = json.loads(text)
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise TraceError("This is not a JSON file in UTF-8.") from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise TraceError(f'This is not a trace: it should say "format": "{FORMAT}".')
    if raw.get("version") != VERSION:
        raise TraceError(f"This trace has version {raw.get('version')!r}; this program reads version {VERSION}.")
    try:
        traces = _ADAPTER.validate_python(raw).traces
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise TraceError(f"The trace is damaged at {where}: {first['msg']}.") from None
    for trace in traces:
        check(trace)
    if not traces:
        raise TraceError("The trace file holds no trace.")
    return traces


def check(trace: Trace) -> None:
    """Raise TraceError where a trace's parts contradict each other."""
    for index, each in enumerate(trace.rounds):
        if not 0 <= each.winner < len(each.branches):
            raise TraceError(f"Round {index} names branch {each.winner} of {len(each.branches)} the winner.")
        if not len(each.slots) == len(each.tokens) == len(each.probabilities):
            raise TraceError(f"Round {index} has {len(each.slots)} slots but {len(each.tokens)} tokens.")
        if any(not 0 <= slot < 100_000 for slot in each.slots) or any(not 0 <= i < len(each.slots) for i in each.filled):
            raise TraceError(f"Round {index} writes a slot outside the canvas.")


def save(traces: list[Trace] | tuple[Trace, ...], path: str | Path) -> None:
    Path(path).write_text(dumps(traces), encoding="utf-8")


def read(path: str | Path) -> tuple[Trace, ...]:
    """The traces in a file. Raises TraceError with the file's name in front."""
    try:
        if Path(path).stat().st_size > LARGEST_FILE:
            raise TraceError(f"it is larger than {LARGEST_FILE // 2**20} MB.")
        return loads(Path(path).read_bytes())
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}.") from None
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None

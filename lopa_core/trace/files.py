"""Traces as files: one versioned JSON object, every field checked when it is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ..io.writing import write_text
from .check import MOST_TRACES, TraceError, check
from .trace import Trace
from .versions import VERSION, upgrade

FORMAT = "lopa-trace"
LARGEST_FILE = 16 * 2**20  # bytes; 512 tokens x 8 branches take about 2 MB


@dataclass(frozen=True, slots=True)
class TraceFile:
    """What a file holds: the traces of one prompt, one per decoder."""

    format: str
    version: int
    traces: tuple[Trace, ...]


_ADAPTER = TypeAdapter(TraceFile)


def dumps(traces: Sequence[Trace]) -> str:
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
    if raw.get("version") not in range(1, VERSION + 1):
        raise TraceError(f"This trace has version {str(raw.get('version'))[:20]}; this program reads versions 1 to {VERSION}.")
    try:
        traces = _ADAPTER.validate_python(upgrade(raw)).traces
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise TraceError(f"The trace is damaged at {where[:100]}: {first['msg']}.") from None
    except (KeyError, TypeError, AttributeError):
        raise TraceError(f"The trace of version {raw['version']} is damaged: a part is missing or of another kind.") from None
    if not 1 <= len(traces) <= MOST_TRACES:
        raise TraceError(f"The file holds {len(traces)} traces; 1 to {MOST_TRACES} can be shown.")
    for trace in traces:
        check(trace)
    return traces


def save(traces: Sequence[Trace], path: str | Path) -> None:
    """Whole or not at all. Raises WriteError."""
    write_text(path, dumps(traces))


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

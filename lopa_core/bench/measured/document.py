"""Documents with results in them: what stands between two marks is made from a stored result.

<!-- measured: NAME PART -->
...
<!-- /measured -->
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ..files import ReportError
from .measurement import MEASURED, Measurement, Result
from .stored import provenance, read

BEGIN = re.compile(r"<!-- measured: (?P<name>[\w-]+) (?P<part>[\w-]+) -->")
END = "<!-- /measured -->"
WITH_COMMAND = "table"  # the part under which command and machine are told


def render(text: str, measurements: Mapping[str, Measurement], folder: Path) -> str:
    """The document with its blocks made anew. Raises ReportError for a mark that is not understood, and for a damaged result."""
    lines: list[str] = []
    inside = 0  # the line of the mark whose block this is, 0 between blocks
    for number, line in enumerate(text.splitlines(), 1):
        begin = BEGIN.fullmatch(line)
        if inside and line != END:
            if begin:
                break
            continue
        if begin:
            inside = number
            lines += [line, "", block(measurements, begin["name"], begin["part"], folder, number), ""]
            continue
        if line == END and not inside:
            raise ReportError(f"Line {number} ends a block of results that has not begun.")
        if "<!-- measured" in line:
            raise ReportError(f"Line {number} does not say which result it wants: it has to be <!-- measured: NAME PART --> alone.")
        inside = 0
        lines.append(line)
    if inside:
        raise ReportError(f"The block of results that begins in line {inside} lacks its end, {END}.")
    return "\n".join(lines) + "\n"


def block(measurements: Mapping[str, Measurement], name: str, part: str, folder: Path, number: int) -> str:
    """What stands between the marks of line `number`."""
    measurement = measurements.get(name)
    if measurement is None or part not in measurement.parts:
        raise ReportError(f"Line {number} asks for {name} {part}, which is not measured.")
    told = read(measurement, folder)
    if told is None:
        return f"*Not measured yet: `python -m lopa_core measure {name}` does it, by `{measurement.typed()}`.*"
    return made(measurement, part, told)


def made(measurement: Measurement, part: str, told: Result) -> str:
    """A part of a result. Raises ReportError where the result lacks what the part shows."""
    try:
        body = measurement.parts[part](told)
        return f"`{told[MEASURED]['command']}`\n({provenance(told)})\n\n{body}" if part == WITH_COMMAND else body
    except (AttributeError, KeyError, IndexError, TypeError, ValueError, ZeroDivisionError) as error:
        fault = f"{type(error).__name__}: {error}"
        raise ReportError(f"The result of {measurement.name} cannot be shown ({fault}): measure it anew.") from error


def shown(text: str) -> list[tuple[str, str]]:
    """(name, part) of every block of a document."""
    return [(mark["name"], mark["part"]) for mark in map(BEGIN.fullmatch, text.splitlines()) if mark]

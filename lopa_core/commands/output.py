"""What a command ends with: its results on standard output, and in files where it was asked to save them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..io.console import abandon, flush
from ..io.writing import WriteError, cannot


def deliver(show: Callable[[], None], *saves: tuple[Path | None, Callable[[Path], None]]) -> None:
    """Save and show; neither is lost where another one fails, be it by a full disk or a reader that has left.

    Args:
        show: prints the results.
        saves: files, None for one that nobody asked for, each with what writes it.

    Raises WriteError for all that cannot be written, after the results were printed.
    """
    failures = [failure for file, save in saves if file and (failure := attempt(save, file))]
    try:
        show()
        flush()
    except OSError as error:
        abandon()
        if not isinstance(error, BrokenPipeError):
            failures.append(cannot("standard output", error))
        elif not failures:
            raise
    if failures:
        raise WriteError(" ".join(map(str, failures)))


def attempt(save: Callable[[Path], None], file: Path) -> WriteError | None:
    try:
        save(file)
    except WriteError as error:
        return error
    return None

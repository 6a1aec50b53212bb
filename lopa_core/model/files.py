"""Reading a checkpoint's files, with everything that can be wrong with one said in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..io.reading import EncodingError, decode_text
from .errors import ModelError

POINTERS = ("version https://git-lfs.github.com/spec/", "version https://hawser.github.com/spec/")


def read_text(path: Path) -> str:
    """A text in UTF-8, without the byte-order mark that some editors put in front. Raises ModelError, FileNotFoundError."""
    refuse_pointer(path)
    try:
        return decode_text(path.read_bytes())
    except EncodingError as error:
        raise ModelError(f"{path} {error}.") from None


def read_object(path: Path, *, missing: str) -> dict[str, Any]:
    """The JSON object in `path`. Raises ModelError; `missing` is its sentence where there is no such file."""
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise ModelError(missing) from None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is not a JSON file in UTF-8: {error}.") from None
    if not isinstance(value, dict):
        raise ModelError(f"{path} must hold a JSON object.")
    return value


def refuse_pointer(path: Path) -> None:
    """Raise ModelError for what git leaves in a file's place where git-lfs did not run; FileNotFoundError where there is none."""
    try:
        with path.open("rb") as file:
            start = file.read(64)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}.") from None
    if start.startswith(tuple(pointer.encode() for pointer in POINTERS)):
        raise ModelError(
            f"{path} is only a git-lfs pointer, not the file itself: run `git lfs install` and `git lfs pull` in {path.parent}, "
            "or download the file from the Hub."
        )

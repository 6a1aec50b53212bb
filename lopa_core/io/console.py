"""Standard output and standard error as they are: in any encoding, closed early by a reader, or on a full disk; and the end."""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import sys
from typing import NoReturn

OUTPUT = "standard output"  # where a sentence names a file


def print_anything() -> None:
    """Let both write characters that their encoding lacks, as backslash escapes. Once, at the start of a program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush() -> None:
    """Print what standard output still holds, while a failure can be told: after the last line of the program nothing can.

    Raises OSError with its name, BrokenPipeError where the reader has left.
    """
    try:
        if sys.stdout:  # None where it was closed from the start
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, OUTPUT) from None


def abandon() -> None:
    """Drop what standard output still holds: nobody can take it, and Python would try again at the end of the process."""
    try:
        descriptor = sys.stdout.fileno()
    except (AttributeError, OSError):
        return  # closed from the start, or no file but in memory
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def leave(code: int) -> NoReturn:
    """End a program whose threads may still be at work: its exit functions run and its output is written, then it is gone.

    Where the interpreter takes itself down instead, a thread that comes back from C++ or Rust (a race, a loading model) is
    ended inside it, and the whole process aborts (python/cpython#87135).
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, full or None: there is nobody left to tell
            stream.flush()
    os._exit(code)

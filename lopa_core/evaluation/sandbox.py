"""Runs programs that a model wrote: in a process of their own, under limits, and on Linux only.

A program gets a fresh working directory, no environment, and limits on processor time, wall clock, memory, file size and open
files. It may write inside that directory only, start no process and open no connection (sandbox_child.py). Where the system allows
namespaces (util-linux' unshare) it has no network and no sight of other processes either, and dies with all it started.
This keeps accidents in; it is no wall against an attacker: run on a machine where that does not matter.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import BinaryIO

from .errors import EvaluationError

CHILD = Path(__file__).with_name("sandbox_child.py")
LONGEST_REPORT = 4096
NAMESPACES = ("--user", "--map-current-user", "--net", "--ipc", "--pid", "--fork", "--kill-child")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """seconds: of wall clock. cpu_seconds: of processor time, whole. memory, file_size: bytes. files: open at once."""

    seconds: float = 20.0
    cpu_seconds: int = 8
    memory: int = 2**30
    file_size: int = 2**20
    files: int = 64


@dataclass(frozen=True, slots=True)
class Verdict:
    """passed: the program came to its end without an exception. why: if not, in a few words."""

    passed: bool
    why: str = ""


def judge(program: str, limits: Limits | None = None) -> Verdict:
    """Run a program of Python. Raises EvaluationError where there is no sandbox."""
    limits, mark = limits or Limits(), secrets.token_hex(16)
    order = json.dumps({"program": program, "mark": mark, "limits": asdict(limits)}).encode()
    with TemporaryDirectory(prefix="lopa-") as folder, TemporaryFile() as told:
        process = start(folder, told)
        try:
            process.communicate(order, timeout=limits.seconds)
        except subprocess.TimeoutExpired:
            return Verdict(False, f"ran longer than {limits.seconds:g} seconds")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        told.seek(0)
        return read(told.read(LONGEST_REPORT), mark, process.returncode)


def start(folder: str, told: BinaryIO) -> subprocess.Popen[bytes]:
    """The child, waiting for its order on standard input. It leads a group of its own, so that one signal ends all of it."""
    command = [*isolation(), sys.executable, "-I", "-B", str(CHILD)]
    surroundings = {"TMPDIR": folder, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, cwd=folder, env=surroundings, stdin=subprocess.PIPE, stdout=told, stderr=subprocess.DEVNULL, start_new_session=True
    )


def read(report: bytes, mark: str, code: int) -> Verdict:
    """What the child reports. One that ends early, be it with exit code 0, has not passed: it does not know the mark."""
    try:
        found = json.loads(report)
    except ValueError:
        found = None
    if isinstance(found, dict) and found.get("mark") == mark:
        why = str(found.get("why", ""))
        return Verdict(not why, why)
    return Verdict(False, f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended early with exit code {code}")


@cache
def isolation() -> tuple[str, ...]:
    """The command that puts a process into namespaces; nothing where the system has none for us. Raises EvaluationError."""
    if sys.platform != "linux":
        raise EvaluationError("Generated programs are run on Linux only: leave out --allow-code-execution, and judge the solutions there.")
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, *NAMESPACES, "true"], capture_output=True).returncode:
        return ()
    return (unshare, *NAMESPACES)

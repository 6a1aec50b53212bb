"""Runs programs that a model wrote: in a process of their own, in a container, under limits, and on Linux only.

A program gets a fresh working directory, no environment, and limits on processor time, wall clock, memory, file size and open
files. The container (container.py, by bwrap) has nothing else in it that could be read, changed or reached. Where a system allows
none, nothing is run, unless the user trusts the programs: what is left then is Python's own guard (sandbox_child.py), which refuses
to write outside the directory, to start processes and to open connections, and where the system has them namespaces without a
network and without sight of other processes (util-linux' unshare). That keeps accidents in; it is no wall, ctypes walks around it.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import BinaryIO

from . import container
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


def judge(program: str, limits: Limits | None = None, *, trusted: bool = False) -> Verdict:
    """Run a program of Python. trusted: without a container where there is none. Raises EvaluationError where it is not run."""
    contained = check(trusted)
    limits, mark = limits or Limits(), secrets.token_hex(16)
    order = json.dumps({"program": program, "mark": mark, "limits": asdict(limits), "contained": contained}).encode()
    with TemporaryFile() as told, start(contained, told) as process:
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


def check(trusted: bool) -> bool:
    """Whether programs run in a container here. Raises EvaluationError where they cannot and are not trusted to run without."""
    if sys.platform != "linux":
        raise EvaluationError("Generated programs are run on Linux only: leave out --allow-code-execution, and judge the solutions there.")
    missing = container.missing()
    if missing and not trusted:
        raise EvaluationError(
            f"Generated programs are run in a container, and {missing}: install or allow bubblewrap, or give --trust-programs to run "
            "them without one (a program that means harm can then read and change all that you can)."
        )
    return not missing


@contextmanager
def start(contained: bool, told: BinaryIO) -> Iterator[subprocess.Popen[bytes]]:
    """The child, waiting for its order on standard input. It leads a group of its own, so that one signal ends all of it."""
    with TemporaryDirectory(prefix="lopa-") as folder, container.system_calls() as calls:
        inside, script = (container.FOLDER, container.CHILD) if contained else (folder, str(CHILD))
        before = container.command(CHILD, calls) if contained else namespaces()
        yield subprocess.Popen(
            [*before, sys.executable, "-I", "-B", script], cwd=folder, env={"TMPDIR": inside, "OPENBLAS_NUM_THREADS": "1"},
            pass_fds=[calls.fileno()], stdin=subprocess.PIPE, stdout=told, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip


def read(report: bytes, mark: str, code: int) -> Verdict:
    """What the child reports. One that ends early, be it with exit code 0, has not passed: it does not know the mark."""
    try:
        found = json.loads(report)
    except ValueError:
        found = None
    if isinstance(found, dict) and found.get("mark") == mark:
        why = str(found.get("why", ""))
        return Verdict(not why, why)
    number = -code if code < 0 else code - 128  # bwrap adds 128
    killer = next((each.name for each in signal.Signals if each == number), None)
    return Verdict(False, f"killed by {killer}" if killer else f"ended early with exit code {code}")


@cache
def namespaces() -> tuple[str, ...]:
    """The command that puts a process into namespaces without a container; nothing where the system has none for us."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, *NAMESPACES, "true"], capture_output=True).returncode:
        return ()
    return (unshare, *NAMESPACES)

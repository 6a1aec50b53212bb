"""A container for one program, by bwrap (bubblewrap): what is in it is listed here, all else is not there.

Read-only: the system's libraries and this Python. Writable: a temporary folder of its own, in memory. No home, no network, no other
process, no capability, no environment but what is given; and the kernel answers fewer calls (system_calls.py).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from .system_calls import MACHINES, compiled

FOLDER = "/program"  # the program's own, and where it starts
CHILD = "/sandbox_child.py"
SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/proc/meminfo")  # evalplus asks for the last
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
LARGEST_FOLDER = 2**26  # bytes
TRIAL_SECONDS = 30.0


@cache
def missing() -> str:
    """Why there is no container on this machine, in words; empty where there is one. Tried once: bwrap may be there, but not allowed."""
    if shutil.which("bwrap") is None:
        return "bwrap, of the package bubblewrap, is not installed"
    if compiled() is None:
        return f"no filter of system calls is known for this machine (only for {', '.join(MACHINES)})"
    with system_calls() as file:
        trial = [*command(Path(__file__), file), sys.executable, "-I", "-c", "pass"]
        try:
            ended = subprocess.run(trial, pass_fds=[file.fileno()], env={}, capture_output=True, timeout=TRIAL_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"bwrap does not work here ({error})"
    if ended.returncode:
        words = ended.stderr.decode(errors="replace").split("\n")[0][:200]
        return f"bwrap does not work here ({words or f'exit code {ended.returncode}'})"
    return ""


def command(child: Path, calls: BinaryIO) -> list[str]:
    """What a command goes behind to run in the container. child: a script that is in there as CHILD. calls: of system_calls().

    The command is not process 1 in there, so that it cannot outlive this process by asking not to be killed with its parent.
    """
    flags = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--seccomp", str(calls.fileno())]
    for path in dict.fromkeys((*SYSTEM, *python())):
        flags += ["--ro-bind-try", path, path]
    for path in DEVICES:
        flags += ["--dev-bind", path, path]
    flags += ["--ro-bind", str(child), CHILD, "--size", str(LARGEST_FOLDER), "--tmpfs", FOLDER, "--chdir", FOLDER]
    return [shutil.which("bwrap"), *flags, "--remount-ro", "/"]


def python() -> list[str]:
    """Where this Python and its packages are, and nothing else of the folders they are in: those may be in somebody's home."""
    prefixes = (sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix)
    shown = [os.path.join(prefix, name) for prefix in prefixes for name in ("bin", "lib", "lib64", "pyvenv.cfg")]
    program = sys.executable
    while os.path.islink(program):  # a virtual environment's leads to another's, and in the end to the system's
        program = os.path.join(os.path.dirname(program), os.readlink(program))
        if os.path.dirname(program) not in shown:
            shown.append(program)
    return shown


@contextmanager
def system_calls() -> Iterator[BinaryIO]:
    """An open file with the filter, for bwrap to read once; empty where none is known."""
    with TemporaryFile() as file:
        file.write(compiled() or b"")
        file.seek(0)
        yield file

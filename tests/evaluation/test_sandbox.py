"""The sandbox, in a container and without: what passes, what fails, and what nobody else may notice."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from lopa_core.evaluation import container, sandbox
from lopa_core.evaluation.errors import EvaluationError
from lopa_core.evaluation.sandbox import Limits

from .containers import NEEDED
from .processes import descendants, ended

STRICT = Limits(seconds=60.0, cpu_seconds=1, memory=2**28, file_size=2**16)
PASSING = {
    "a test that holds": "def twice(x):\n    return 2 * x\nassert twice(2) == 4",
    "imports": "import math, json, re, collections, itertools\nassert math.gcd(4, 6) == 2",
    "files of its own": "import os, tempfile\nopen('a', 'w').write('x')\nos.rename('a', 'b')\nos.remove('b')\ntempfile.mkdtemp()",
    "no environment": "import os\nassert set(os.environ) <= {'TMPDIR', 'OPENBLAS_NUM_THREADS', 'LC_CTYPE'}",
    "nothing is in the directory": "import os\nassert os.listdir('.') == []",
    "what it prints is lost": "print('x' * 10**6)\nimport sys\nprint('y', file=sys.stderr)",
    "no modules of this project": "import sys\nassert not any('lopa_core' in each for each in [*sys.modules, *sys.path])",
    "no main": "assert __name__ != '__main__'",
}
FORGED = """
import os
for fd in range(1, 60):
    try:
        os.write(fd, b'{"mark": "0", "why": ""}')
    except OSError:
        pass
os._exit(0)
"""
FAILING = {
    "a test that does not hold": ("assert 1 == 2", "AssertionError"),
    "no Python": ("def (", "SyntaxError"),
    "an exit code of success": ("import sys\nsys.exit(0)", "SystemExit"),
    "a hard exit of success": ("import os\nos._exit(0)", "ended early"),
    "a forged report": (FORGED, "ended early"),
    "an endless loop": ("while True:\n    pass", "seconds of processor time"),
    "an endless loop that takes everything": ("while True:\n    try:\n        while True: pass\n    except BaseException: pass", ""),
    "too much memory": ("x = bytearray(2**29)", "MemoryError"),
    "more and more memory": ("x = []\nwhile True:\n    x.append(bytearray(10**6))", "MemoryError"),
    "a fork bomb": ("import os\nwhile True:\n    os.fork()", "os.fork"),
    "another program": ("import subprocess\nsubprocess.run(['true'])", "PermissionError"),
    "a shell": ("import os\nos.system('true')", "PermissionError"),
    "the network": ("import socket\nsocket.create_connection(('127.0.0.1', 80))", "PermissionError"),
    "a huge file": ("open('a', 'wb').write(bytes(10**6))", "File too large"),
    "endless output": ("while True:\n    print('x' * 10**6)", "seconds of processor time"),
    "standard input": ("input()", "EOFError"),
    "recursion": ("def f():\n    f()\nf()", "RecursionError"),
    "an exception that cannot say what it is": ("class Odd(Exception):\n    def __str__(self):\n        return 1\nraise Odd", "Odd"),
    "a crash of the interpreter": ("import ctypes\nctypes.string_at(0)", ""),
    "text that no encoding has": ("assert False, '\\ud800'", "AssertionError"),
}


@pytest.fixture(params=[pytest.param("in a container", marks=NEEDED), "trusted without one"])
def judge(request, monkeypatch):
    """sandbox.judge with what this parameter leaves of the system's means."""
    trusted = request.param == "trusted without one"
    if trusted:
        monkeypatch.setattr(container, "missing", lambda: "it is not there")
    return partial(sandbox.judge, trusted=trusted)


@pytest.mark.parametrize("name", PASSING)
def test_a_right_program_passes(judge, name):
    assert judge(PASSING[name]) == sandbox.Verdict(True)


@pytest.mark.parametrize("name", FAILING)
def test_a_wrong_program_fails(judge, name):
    program, why = FAILING[name]
    verdict = judge(program, STRICT)
    assert not verdict.passed and why in verdict.why and len(verdict.why) <= 400


def test_nothing_is_written_outside(judge, tmp_path):
    known = tmp_path / "known"
    known.write_text("as it was")
    refusals = ("PermissionError",) if judge.keywords["trusted"] else ("PermissionError", "FileNotFoundError")  # not there at all
    for program in (
        f"open({str(tmp_path / 'new')!r}, 'w')",
        f"open({str(known)!r}, 'a').write('!')",
        f"import os\nos.remove({str(known)!r})",
        f"import os\nos.rename({str(known)!r}, 'mine')",
        f"import os\nos.mkdir({str(tmp_path / 'new')!r})",
        f"import os\nos.symlink({str(tmp_path)!r}, 'out')\nopen('out/new', 'w')",
        f"import pathlib\npathlib.Path({str(known)!r}).chmod(0)",
        f"import os\nos.chdir({str(tmp_path)!r})\nopen('new', 'w')",
        f"import shutil\nshutil.rmtree({str(tmp_path)!r})",
        f"import os\nos.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=os.open({str(tmp_path)!r}, os.O_RDONLY))",
        f"import sqlite3\nsqlite3.connect({str(tmp_path / 'new')!r}).execute('create table t (x)')",
    ):
        assert judge(program).why.startswith(refusals), program
    assert os.listdir(tmp_path) == ["known"] and known.read_text() == "as it was"


def test_the_deadline_ends_what_sleeps(judge):
    began = time.monotonic()
    verdict = judge("import time\ntime.sleep(60)", Limits(seconds=1.0))
    assert verdict == sandbox.Verdict(False, "ran longer than 1 seconds") and time.monotonic() - began < 30


def test_no_process_and_no_directory_is_left_over(judge, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(judge, "import time\ntime.sleep(60)", Limits(seconds=5.0))
        seen = set()
        while not running.done():
            seen |= descendants(os.getpid())
            time.sleep(0.02)
    assert seen and os.listdir(tmp_path) == []
    assert ended(seen)


def test_a_right_program_passes_without_namespaces_as_well(judge, monkeypatch):
    monkeypatch.setattr(sandbox, "namespaces", lambda: ())
    assert judge("assert sum(range(4)) == 6").passed and not judge("assert sum(range(4)) == 7").passed


def test_elsewhere_than_on_linux_nothing_is_run(judge, monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(EvaluationError, match="Linux only"):
        judge("pass")

"""Ways out of the sandbox, each tried past Python's own guard by ctypes: none leads out of the container."""

import os
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lopa_core.evaluation import container, system_calls
from lopa_core.evaluation.errors import EvaluationError
from lopa_core.evaluation.sandbox import Limits, Verdict, judge

from .containers import NEEDED
from .processes import descendants, ended

STRICT = Limits(seconds=60.0, cpu_seconds=4, memory=2**28)
SECRET = "hf_not_for_programs"
LIBC = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)


def read(path):
    data = ctypes.create_string_buffer(4096)
    file = libc.open(path.encode(), 0)
    return data.raw[:max(0, libc.read(file, data, 4096))] if file >= 0 else b""


def refused(result):
    return result < 0 and ctypes.get_errno() in (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOENT, errno.ENOSYS, errno.ESRCH)
"""
# A program that passes has found its way barred. {outside}: a folder of the user's; {secret}: a file in it; {port}: of a server here.
ESCAPES = {
    "a new file outside": "assert refused(libc.open(b'{outside}/new', 0o101, 0o600))",
    "a file outside changed": "assert refused(libc.open(b'{secret}', 0o2))",
    "a file outside emptied": "assert refused(libc.truncate(b'{secret}', ctypes.c_long(0)))",
    "a file outside removed": "assert refused(libc.unlink(b'{secret}'))",
    "a file outside read": "assert read('{secret}') == b''",
    "the Hub's token at home": "assert read('{home}/.cache/huggingface/token') == b''\nassert refused(libc.open(b'{home}', 0o200000))",
    "the Hub's token in the environment": "import os\nlibc.getenv.restype = ctypes.c_char_p\nassert libc.getenv(b'HF_TOKEN') is None",
    "the environment of the first process": "assert read('/proc/1/environ') == b''",
    "the environment of the parent": "import os\nassert read(f'/proc/{{os.getppid()}}/environ') == b''",
    "the memory of the parent": (
        "import os\nassert refused(libc.ptrace(16, os.getppid(), 0, 0))\n"
        "assert refused(libc.process_vm_readv(os.getppid(), 0, 0, 0, 0, 0))"
    ),
    "a signal to the user's process": "assert refused(libc.kill({process}, 0))\nassert refused(libc.kill({process}, 9))",
    "passwords": "assert read('/etc/shadow') == b'' and read('/etc/passwd') == b''",
    "the folder of the questions": "assert read('{project}/pyproject.toml') == b''",
    "a symlink outside": "assert libc.symlink(b'{outside}', b'out') == 0\nassert refused(libc.open(b'out/new', 0o101, 0o600))",
    "a symlink to the root": "assert libc.symlink(b'/', b'top') == 0\nassert read('top{secret}') == b''",
    "a hard link": "assert refused(libc.link(b'{secret}', b'mine'))",
    "up by dots": "assert read('../../../../../../../..{secret}') == b''",
    "up from another root": "assert refused(libc.chroot(b'.'))",
    "the system's Python": "import os\nassert refused(libc.open(os.__file__.encode(), 0o2))",
    "the system's Python removed": "import os\nassert refused(libc.unlink(os.__file__.encode()))",
    "packages": "import sys\nassert all(refused(libc.open(f'{{each}}/x.pth'.encode(), 0o101, 0o600)) for each in sys.path if each)",
    "the interpreter": "import sys, os\nassert refused(libc.unlink(os.path.realpath(sys.executable).encode()))",
    "the system's libraries": "assert refused(libc.open(b'/usr/lib/new', 0o101, 0o600))",
    "the container's root": "assert refused(libc.open(b'/new', 0o101, 0o600))",
    "a remount": "assert refused(libc.mount(b'none', b'/usr', None, 32 | 4096, None))",
    "a mount of its own": "assert refused(libc.mount(b'none', b'/program', b'tmpfs', 0, None))",
    "the host's devices": "assert refused(libc.mknod(b'disk', 0o60600, ctypes.c_ulong(8 << 8)))",
    "namespaces in the namespace": "assert refused(libc.unshare(0x10000000)) and refused(libc.unshare(0x20000))",
    "capabilities": "assert refused(libc.sethostname(b'x', 1))\nassert not any(libc.prctl(23, number) > 0 for number in range(64))",
    "the kernel's settings": "assert refused(libc.open(b'/proc/sys/kernel/core_pattern', 0o1))",
    "the cgroups": "assert refused(libc.open(b'/sys/fs/cgroup/cgroup.procs', 0o1))",
    "a server on this machine": "assert refused(libc.socket(2, 1, 0))\nassert not reached({port})",
    "other kinds of sockets": "assert all(refused(libc.socket(family, 1, 0)) for family in (1, 2, 10, 16, 17, 40))",
    "the terminal": "assert refused(libc.open(b'/dev/tty', 0o2))",
    "keyrings": "assert refused(libc.syscall({keyctl}, 0, -4, 0))",
    "a process": "assert refused(libc.fork())",
    "a shell": "assert libc.system(b'true') != 0",
    "a fork bomb": "assert not any(libc.fork() > 0 for _ in range(1000))",
    "memory that no limit counts": "assert refused(libc.shmget(0, 2**28, 0o1600))",
    "more memory than allowed": (
        "libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]\nassert not libc.malloc(2**29)"
    ),
    "higher limits": "import resource\nassert refused(libc.setrlimit(9, (ctypes.c_ulong * 2)(2**40, 2**40)))",
    "more files than the folder holds": (
        "block = bytes(2**20 - 1)\n"
        "def fill():\n    for number in range(200):\n        with open(f'{{number}}', 'wb') as file:\n            file.write(block)\n"
        "try:\n    fill()\nexcept OSError as error:\n    assert error.errno == errno.ENOSPC\nelse:\n    raise AssertionError('no end')"
    ),
}  # fmt: skip
REACHED = """

def reached(port):
    import socket
    try:
        return bool(socket.create_connection(('127.0.0.1', port), timeout=5))
    except OSError:
        return False
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """What a program would look for, as a user has it."""
    home = tmp_path / "home"
    token = home / ".cache" / "huggingface" / "token"
    token.parent.mkdir(parents=True)
    token.write_text(SECRET)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HF_TOKEN", SECRET)
    with socket.create_server(("127.0.0.1", 0)) as server:
        names = {"outside": tmp_path, "secret": token, "home": home, "process": os.getpid(), "port": server.getsockname()[1]}
        numbers = system_calls.CALLS["keyctl"][system_calls.MACHINES[os.uname().machine][1]]
        yield names | {"project": Path.cwd(), "keyctl": numbers}
    assert token.read_text() == SECRET and os.listdir(tmp_path) == ["home"]


def attempt(name, names):
    return LIBC + REACHED + ESCAPES[name].format(**names)


@NEEDED
@pytest.mark.parametrize("name", ESCAPES)
def test_no_way_leads_out(outside, name):
    assert judge(attempt(name, outside), STRICT) == Verdict(True)


def test_most_ways_are_open_without_a_container(outside, monkeypatch):
    """That the attempts above are real: the Hub's token is read past Python's guard, and its file could be written."""
    monkeypatch.setattr(container, "missing", lambda: "it is not there")
    for name in ("a file outside read", "the Hub's token at home", "a symlink to the root", "up by dots", "the system's Python"):
        assert "AssertionError" in judge(attempt(name, outside), STRICT, trusted=True).why, name


@NEEDED
def test_a_program_cannot_outlive_its_judge():
    """Not by asking not to be killed with its parent, and not in a session of its own."""
    program = LIBC + "libc.prctl(1, 0)\nlibc.setsid()\nimport time\nwhile True:\n    time.sleep(1)"
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(judge, program, Limits(seconds=3.0))
        seen = set()
        while not running.done():
            seen |= descendants(os.getpid())
            time.sleep(0.02)
    assert running.result() == Verdict(False, "ran longer than 3 seconds") and len(seen) >= 3
    assert ended(seen)


@NEEDED
def test_threads_run_in_a_container():
    program = "from threading import Thread\nseen = []\none = Thread(target=seen.append, args=(1,))\none.start()\none.join()\nassert seen"
    assert judge(program) == Verdict(True)


def test_without_bwrap_nothing_is_run(monkeypatch):
    container.missing.cache_clear()
    monkeypatch.setattr(container.shutil, "which", lambda name: None)
    with pytest.raises(EvaluationError, match="bubblewrap, is not installed.*--trust-programs"):
        judge("pass")
    container.missing.cache_clear()
    assert judge("pass", trusted=True).passed


@pytest.fixture
def tried(monkeypatch, tmp_path):
    """container.missing() with another program in bwrap's place, and how often that was started."""
    log = tmp_path / "log"

    def tried(script):
        fake = tmp_path / "bwrap"
        fake.write_text(f"#!/bin/sh\necho x >> {log}\n{script}\n")
        fake.chmod(0o700)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return lambda: (container.missing(), log.read_text().count("x"))

    container.missing.cache_clear()
    yield tried
    container.missing.cache_clear()


def test_bwrap_that_is_not_permitted_is_tried_once(tried):
    missing = tried("echo 'bwrap: No permissions to create a new namespace' >&2; exit 1")
    assert missing() == ("bwrap does not work here (bwrap: No permissions to create a new namespace)", 1)
    with pytest.raises(EvaluationError, match="No permissions to create a new namespace.*--trust-programs"):
        judge("pass")
    assert missing()[1] == 1


def test_an_unknown_machine_has_no_container(monkeypatch):
    container.missing.cache_clear()
    monkeypatch.setattr("platform.machine", lambda: "vax")
    assert "known for this machine" in container.missing() and system_calls.compiled() is None
    container.missing.cache_clear()


@pytest.mark.parametrize("machine", system_calls.MACHINES)
def test_a_filter_is_whole_instructions_and_jumps_stay_inside(machine):
    program = system_calls.compiled(machine)
    steps = [program[place : place + 8] for place in range(0, len(program), 8)]
    assert all(place + 1 + max(step[2], step[3]) < len(steps) for place, step in enumerate(steps[:-1]))


def test_only_python_s_own_folders_are_shown():
    program = os.path.realpath(sys.executable)
    for path in container.python():
        assert os.path.basename(path) in ("bin", "lib", "lib64", "pyvenv.cfg") or os.path.realpath(path) == program

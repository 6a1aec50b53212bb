"""Standard output in encodings that lack characters, of a reader that has left, and on a full disk."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from lopa_core.trace import files

from ..helpers.traces import written

CONSOLES = {
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "cp1252 strict": {"PYTHONIOENCODING": "cp1252:strict"},
    "LANG=C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "UTF-8": {"PYTHONIOENCODING": "utf-8"},
}


@pytest.fixture
def saved(tmp_path):
    """A trace whose answer is Chinese."""
    path = tmp_path / "trace.json"
    files.save([replace(written((5, 6, 7, 8)), text="答案是 9 — ½", prompt="多少？")], path)
    return path


def run(*argv, stdout=subprocess.PIPE, **env):
    command = [sys.executable, "-m", "lopa_core", *map(str, argv)]
    buffered = {"PYTHONUNBUFFERED": ""}  # as for most users: what is wrong with the output shows when it is flushed
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, env=os.environ | buffered | env, timeout=120)


@pytest.mark.parametrize("name", CONSOLES)
def test_an_answer_in_another_script_is_printed(saved, name):
    told = run("trace", saved, "--rounds", **CONSOLES[name])
    assert told.returncode == 0 and told.stderr == b""
    assert ("答案是 9".encode() if name == "UTF-8" else rb"\u7b54\u6848\u662f 9") in told.stdout


def test_a_reader_that_has_left_is_no_error(saved):
    reader, writer = os.pipe()
    os.close(reader)
    told = run("trace", saved, stdout=writer)
    os.close(writer)
    assert (told.returncode, told.stderr) == (0, b"")


def test_a_reader_that_has_left_costs_no_file(saved, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    told = run("trace", saved, "--html", tmp_path / "page.html", stdout=writer)
    assert (told.returncode, told.stderr) == (0, b"") and (tmp_path / "page.html").stat().st_size > 10_000
    told = run("trace", saved, "--html", "/dev/full", stdout=writer)
    os.close(writer)
    assert told.returncode == 2 and told.stderr.decode() == "lopa_core: /dev/full cannot be written: the disk is full.\n"


@pytest.mark.parametrize("command", ["trace", "models"])
def test_standard_output_on_a_full_disk_is_one_sentence(saved, tmp_path, command):
    page = tmp_path / "page.html"
    with open("/dev/full", "wb") as full:
        told = run(*(["trace", saved, "--html", page] if command == "trace" else ["models"]), stdout=full)
    assert told.returncode == 2 and len(told.stderr.splitlines()) == 1 and b"standard output" in told.stderr
    assert command != "trace" or page.stat().st_size > 10_000


def test_a_closed_standard_output_is_no_error(saved):
    told = subprocess.run([f'"{sys.executable}" -m lopa_core trace "{saved}" >&-'], shell=True, capture_output=True, timeout=120)
    assert (told.returncode, told.stderr) == (0, b"")

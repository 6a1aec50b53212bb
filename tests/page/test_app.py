"""The entry from a shell: help, one sentence and exit code 2 for what cannot work."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import app

ROOT = Path(__file__).parents[2]


def shell(*flags, **env):
    return subprocess.run([sys.executable, "app.py", *flags], cwd=ROOT, env=os.environ | env, capture_output=True, text=True, timeout=120)


def one_sentence(told):
    assert told.returncode == 2 and told.stdout == "" and len(told.stderr.strip().splitlines()) == 1, told.stderr
    return told.stderr


def test_help_names_every_flag():
    told = shell("--help")
    assert told.returncode == 0 and all(flag in told.stdout for flag in ("--host", "--port", "--model", "--threads", "--share"))


@pytest.mark.parametrize(
    ("flags", "word"),
    [(("--port", "x"), "--port"), (("--port", "70000"), "70000"), (("--threads", "0"), "--threads"), (("--what",), "--what")],
)
def test_a_wrong_flag_is_one_sentence(flags, word, capsys):
    with pytest.raises(SystemExit) as left:
        app.parse(flags)
    told = capsys.readouterr()
    assert left.value.code == 2 and told.out == "" and word in told.err and len(told.err.splitlines()) == 1


def test_flags_have_environment_variables(monkeypatch):
    for name, value in {"PORT": "8123", "GRADIO_SERVER_NAME": "0.0.0.0", "LOPA_MODEL": "somewhere", "LOPA_THREADS": "3"}.items():
        monkeypatch.setenv(name, value)
    args = app.parse([])
    assert (args.port, args.host, args.model, args.threads) == (8123, "0.0.0.0", "somewhere", 3)


def test_a_folder_without_a_model_is_one_sentence(tmp_path):
    assert "config.json" in one_sentence(shell("--model", str(tmp_path)))


def test_a_taken_port_is_one_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert port in one_sentence(shell("--port", port, "--threads", "1"))

"""A test that cannot be tried here: a failure where CI runs, elsewhere a word on the last line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ONE = "import pytest\n\ndef test_one():\n    pytest.importorskip('no_such_package')\n"
ALL = "import pytest\n\npytest.importorskip('no_such_package')\n\ndef test_one():\n    pass\n"


def ran(folder, text, **told):
    (folder / "test_it.py").write_text(text)
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "LOPA_TESTS_REQUIRE")} | told
    command = [sys.executable, "-m", "pytest", "-p", "tests.helpers.skips", "-c", os.devnull, "--rootdir", str(folder), "-q", str(folder)]
    return subprocess.run(command, cwd=ROOT, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("text", [ONE, ALL], ids=["a test", "a file of tests"])
@pytest.mark.parametrize("told", [{"CI": "true"}, {"LOPA_TESTS_REQUIRE": "1"}], ids=["CI", "on request"])
def test_where_it_is_required_it_fails(tmp_path, text, told):
    run = ran(tmp_path, text, **told)
    assert run.returncode not in (0, 5) and "nothing may be: could not import 'no_such_package'" in run.stdout


@pytest.mark.parametrize("text", [ONE, ALL], ids=["a test", "a file of tests"])
def test_elsewhere_the_last_line_says_so(tmp_path, text):
    run = ran(tmp_path, text)
    assert run.returncode in (0, 5)
    last = run.stdout.splitlines()[-1]
    assert last.startswith("Not tried here") and "could not import 'no_such_package'" in last and last.endswith("(1)")


def test_who_leaves_nothing_out_says_nothing(tmp_path):
    assert "Not tried" not in ran(tmp_path, "def test_one():\n    pass\n").stdout

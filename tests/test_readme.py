"""README's figures: each command that stands beside one is run, at a small limit, and ends well."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MEASURED = ("lopa_core bench", "lopa_core verify", "lopa_core evaluate", "tests.")  # what measures, among the commands of README
# what makes a command small; a figure needs more
LEAST = {
    "--limit": "1", "--repeats": "1", "--lookaheads": "0,2", "--taus": "0.9", "--max-new-tokens": "32",
}  # fmt: skip
BESIDES = {
    "lopa_core bench --sweep": {"--lookaheads": "0,2", "--taus": "0.9"},
    "lopa_core bench-speed": {"--limit": "1", "--repeats": "1"},
    "lopa_core bench-rounds": {"--repeats": "1"},
    "lopa_core bench-step": {"--shape": "small", "--layers": "1", "--rows": "1,2", "--window": "32", "--repeats": "1"},
    "tests.runtime.bench_pool": {"--requests": "12"},  # one worker is killed half-way: fewer end before it is there again
    "tests.model.bench_loading": {"--megabytes": "3"},
}  # fmt: skip
MADE_BY_HAND = {"tests.page.bench"}  # make bench-page: minutes of a browser; its figures have no smaller run


def commands() -> list[str]:
    """Every command of README that measures something, as it stands there."""
    spans = re.findall(r"`(?:\.venv/bin/)?python (-m [^`\n]+)`", README) + re.findall(
        r"^(?:\.venv/bin/)?python (-m [^#\n]+)", README, re.MULTILINE
    )
    found = (each.strip() for each in spans)
    return sorted({each for each in found if each.removeprefix("-m ").startswith(MEASURED)})


def small(command: str, folder: Path) -> list[str]:
    """The same command at a small limit; what it would write goes to `folder`."""
    argv = shlex.split(command)
    besides = next((flags for start, flags in BESIDES.items() if " ".join(argv).startswith(f"-m {start}")), {})
    for flag, value in LEAST.items():
        if flag in argv:
            argv[argv.index(flag) + 1] = value
    for flag, value in besides.items():
        if flag in argv:
            argv[argv.index(flag) + 1] = value
        else:
            argv += [flag, value]
    for flag in ("--out", "--figure"):
        if flag in argv:
            argv[argv.index(flag) + 1] = str(folder / Path(argv[argv.index(flag) + 1]).name)
    return argv


def test_readme_names_the_commands_behind_its_figures():
    told = " ".join(commands())
    for each in ("bench --limit", "bench --sweep", "bench-speed", "bench --decoders all", "bench-rounds", "bench_pool", "verify"):
        assert each in told, each


# `evaluate` needs the network; tests/evaluation runs it on files
@pytest.mark.parametrize(
    "command",
    [each for each in commands() if each.split()[1] not in MADE_BY_HAND and "--model my-model" not in each and "evaluate" not in each],
)
def test_a_command_of_readme_runs(command, tmp_path):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    told = subprocess.run(
        [sys.executable, *small(command, tmp_path)], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280
    )
    assert told.returncode == 0, told.stderr[-2000:]
    assert told.stdout.strip()

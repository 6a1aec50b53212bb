"""What a test needs has to be there where CI runs (CI=true, or LOPA_TESTS_REQUIRE=1): there a skip is a failure.

Elsewhere a test may go without, and the last line says what was not tried. For tests/conftest.py.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)
REQUIRED = not {"1", "true"}.isdisjoint({os.environ.get("CI"), os.environ.get("LOPA_TESTS_REQUIRE")})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return judged((yield))  # of a module that is skipped as a whole


def judged(report: Report) -> Report:
    if REQUIRED and report.skipped:
        report.outcome, report.longrepr = "failed", f"It was skipped, and here nothing may be: {reason(report)}"
    return report


def reason(report: Report) -> str:
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else str(report.longrepr)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Behind the line that counts the tests."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    skipped = terminal.stats.get("skipped", []) if terminal else []
    if skipped:
        told = "; ".join(f"{why} ({count})" for why, count in Counter(map(reason, skipped)).items())
        terminal.write_line(f"Not tried here, but where CI runs: {told}")

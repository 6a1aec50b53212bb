"""A running app.py and a real browser (Debian's chromium), shared by the tests of the page."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium")
FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
PATIENCE = 60_000  # ms; only a busy machine needs it


def pytest_collection_modifyitems(items):
    """A browser on a busy machine gets a second try: it may have been kept waiting. What is wrong is wrong twice."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=1))


@contextlib.contextmanager
def running(*flags, script="slow_app.py", **env):
    """(address, process) of an app; at the end it has to leave cleanly on SIGTERM."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, Path(__file__).parent / script, "--port", str(port), "--threads", "1", *flags]
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | env
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
    url = f"http://127.0.0.1:{port}/"
    try:
        assert any(url.rstrip("/") in line for line in server.stdout)  # its last word before it serves
        yield url, server
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=60) == 0
        assert "Traceback" not in server.stderr.read()
    finally:
        server.kill()


@pytest.fixture(scope="session")
def forwards(tmp_path_factory):
    """A file to which the app adds a byte with every forward of its engine."""
    return tmp_path_factory.mktemp("engine") / "forwards"


@pytest.fixture(scope="session")
def address(forwards):
    with running(LOPA_TEST_FORWARDS=str(forwards)) as (url, _):
        yield url


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine's PATH")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS.split())
        yield opened
        opened.close()


@contextlib.contextmanager
def tab(browser, url, shown=".lv-lane .lv-t", harmless="nothing is", **options):
    """An opened page; afterwards: no console error but with this word in it, nothing fetched from elsewhere."""
    opened = browser.new_page(**({"viewport": {"width": 1280, "height": 900}} | options))
    opened.set_default_timeout(PATIENCE)
    errors, foreign = [], []
    home = url.partition("?")[0]
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" and harmless not in message.text else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("request", lambda request: foreign.append(request.url) if not request.url.startswith((home, "data:", "blob:")) else None)
    opened.goto(url)
    opened.wait_for_selector(shown)
    yield opened
    opened.close()
    assert not errors and not foreign


@pytest.fixture
def page(browser, address):
    with tab(browser, address) as opened:
        yield opened

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
PATIENCE = 120_000  # ms; only a busy machine needs it


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
        assert server.wait(timeout=120) == 0
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


VIEWER = "(() => { let node = document.querySelector('.lv'); while (!node.viewer) node = node.parentElement; return node.viewer; })()"
FRAMES = """(count) => new Promise((done) => {
    const next = () => (count-- > 0 ? requestAnimationFrame(next) : done());
    next();
})"""
DRAWN = f"""(figure) => {{
    const {{ shown }} = {VIEWER}.state();
    const passes = [...document.querySelectorAll('.lv-lane [data-counter=rounds]')].map((node) => Number(node.textContent));
    return passes.join() === shown.join() && {VIEWER}.figures().every(({{ name, near, drawn }}) => drawn || !(near || name === figure));
}}"""


def drawn(page, figure=None):
    """Wait until the page shows what its viewer is at: the lanes, every chart in sight, and this one."""
    page.evaluate(FRAMES, 2)  # what is done to a page is seen in its next frame
    page.wait_for_function(DRAWN, arg=figure)


def charts(page):
    """Every chart of the run on screen, drawn."""
    cards = page.locator(".lv-figures .lv-figure:not([hidden])").all()
    assert len(cards) >= 4  # tokens, progress, filling and a tree at least
    for card in cards:
        card.scroll_into_view_if_needed()
        card.locator(".main-svg").first.wait_for()
    return cards


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
    with contextlib.closing(opened):
        opened.goto(url)
        opened.wait_for_selector(shown)
        yield opened
    assert not errors and not foreign


@pytest.fixture
def page(browser, address):
    with tab(browser, address) as opened:
        yield opened

"""The page in a real browser (Debian's chromium), served by app.py: run, stop, wrong input, hostile text."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from gradio_client import Client

from lopa_core.page.layout import VIEWER
from lopa_core.page.state import loaded

from .samples import pair

CHROMIUM = shutil.which("chromium")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine's PATH")
FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
PATIENCE = 60_000  # ms; only a busy machine needs it
PROBE = '<img src=x onerror="window.hacked=1">'


@pytest.fixture(scope="module")
def address():
    """A running app.py on a free port; at the end it has to leave cleanly on SIGTERM."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = ["--port", str(port), "--threads", "1"]
    server = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("slow_app.py"), *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        text=True,
    )
    url = f"http://127.0.0.1:{port}/"
    try:
        assert url.rstrip("/") in server.stdout.readline()
        yield url
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=60) == 0
        assert "Traceback" not in server.stderr.read()
    finally:
        server.kill()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS.split())
        yield opened
        opened.close()


@pytest.fixture
def page(browser, address):
    """The loaded page; afterwards: no console error, nothing fetched from elsewhere."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.set_default_timeout(PATIENCE)
    errors, foreign = [], []
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("request", lambda request: foreign.append(request.url) if not request.url.startswith((address, "data:", "blob:")) else None)
    opened.goto(address)
    opened.wait_for_selector("#lv-run")
    opened.wait_for_selector(".lv")
    yield opened
    opened.close()
    assert not errors and not foreign


# remembers each status the first lane has shown, with its committed tokens: a race may last a moment only
WATCH = """() => {
    window.seen = new Map();
    const lane = document.querySelector('.lv-lane[data-lane="baseline"]');
    const look = () => seen.set(lane.dataset.status, lane.querySelectorAll('.done').length);
    new MutationObserver(look).observe(lane, { attributes: true });
}"""


def finish(page):
    page.click("#lv-run")
    page.wait_for_selector(".lv-card:not([hidden])")
    page.wait_for_selector("#lv-run:not([disabled])")


def test_first_sight_explains_and_offers_an_example(page):
    assert page.is_visible(".lv-how") and not page.is_visible(".lv-stage")
    assert len(page.input_value("#lv-prompt textarea")) > 50
    assert page.is_disabled("#lv-stop") and page.is_enabled("#lv-run")


def test_an_example_runs_to_the_score_card_in_the_same_chart_nodes(page):
    before = page.input_value("#lv-prompt textarea")
    page.click("text=Marbles")
    page.wait_for_function("before => document.querySelector('#lv-prompt textarea').value !== before", arg=before)
    page.evaluate(WATCH)
    finish(page)
    assert page.evaluate("seen.has('running') && seen.get('finished') > 5")
    assert page.locator('.lv-lane[data-status="finished"]').count() == 2
    page.wait_for_selector(".lv-plot .main-svg")
    page.evaluate("window.nodes = [...document.querySelectorAll('.lv-plot, .lv-plot .main-svg')]")
    finish(page)
    assert page.evaluate("nodes.length >= 4 && nodes.every((node) => node.isConnected)")
    assert "wrong" in page.inner_text(".lv-card") or "right" in page.inner_text(".lv-card")
    assert page.locator('.lv-lane[data-lane="lopa"] .lv-t.done').count() > 5


def test_stop_keeps_what_the_lanes_have(page):
    page.click("#lv-settings > button")
    page.click("text=One token per pass")
    page.click("#lv-run")
    page.wait_for_function("document.querySelectorAll('.lv-lane[data-lane=\"baseline\"] .lv-t.done').length > 3")
    page.click("#lv-stop")
    page.wait_for_selector('.lv-lane[data-status="stopped"]')
    page.wait_for_selector("#lv-run:not([disabled])")
    assert page.is_disabled("#lv-stop") and "Stopped" in page.inner_text(".lv-card h2")
    assert page.locator('.lv-lane[data-lane="baseline"] .lv-t.done').count() > 3


def test_wrong_input_is_a_sentence_and_the_screen_stays(page):
    finish(page)
    told = page.inner_text(".lv-card h2")
    page.fill("#lv-prompt textarea", "word " * 500)
    page.click("#lv-run")
    page.wait_for_selector(".lv-banner:not([hidden])")
    assert "takes up to 2000" in page.inner_text(".lv-banner")
    assert page.inner_text(".lv-card h2") == told and page.is_visible(".lv-stage")
    page.wait_for_selector("#lv-run:not([disabled])")


def test_a_hostile_prompt_is_shown_as_text(page):
    page.fill("#lv-prompt textarea", PROBE)
    finish(page)
    assert page.inner_text(".lv-asked") == PROBE
    assert page.evaluate("window.hacked") is None


def test_a_whole_trace_with_hostile_tokens_is_drawn_as_text(page):
    traces = [replace(trace, prompt=PROBE, text=PROBE, pieces={token: PROBE for token in trace.pieces}) for trace in pair()]
    draw = """([html, js, state, plotly_url]) => {
        const element = document.createElement('div');
        element.id = 'loaded';
        document.body.append(element);
        element.innerHTML = html;
        new Function('element', 'props', 'watch', js)(element, { value: state, plotly_url }, () => {});
    }"""
    source = page.evaluate("window.gradio_config.components.find((each) => each.props.elem_id === 'lv-viewer').props.props.plotly_url")
    page.evaluate(draw, [(VIEWER / "viewer.html").read_text(), (VIEWER / "viewer.js").read_text(), loaded("whole", traces), source])
    page.wait_for_selector("#loaded .lv-plot .main-svg")
    assert PROBE in page.inner_text("#loaded .lv-canvas >> nth=0")
    assert page.evaluate("window.hacked") is None and page.locator("#loaded img").count() == 0
    assert page.locator('#loaded .lv-lane[data-status="finished"]').count() == 2


def test_the_endpoint_streams_to_a_client_without_the_page(address):
    states = list(Client(address, verbose=False).submit("2 + 2", api_name="/compare"))
    assert len(states) > 2
    assert states[-1][0]["status"] == "finished" and states[-1][1] == ""

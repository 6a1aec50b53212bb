"""The page with a model of the Hub, from the first request for it to a finished race. The Hub is a small one on this machine."""

from __future__ import annotations

import threading

import pytest

from ..helpers.hub import FakeHub
from ..helpers.repositories import adapter, dream
from .conftest import running, tab

DREAM, LORA = "Dream-org/Dream-v0-Instruct-7B", "SJTU-DENG-Lab/D2F_Dream_Instruct_7B_Lora"
TITLE = "Dream 7B Instruct + D2F"


@pytest.fixture
def hub(tmp_path):
    with FakeHub() as server:
        server.add(DREAM, dream(tmp_path / "dream"))
        server.add(LORA, adapter(tmp_path / "adapter"))
        yield server


def started(hub, folder, *flags):
    """app.py with an empty cache that knows this Hub only."""
    told = {"HF_ENDPOINT": hub.url, "HF_HOME": str(folder), "HF_TOKEN": "", "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
    return running("--model", DREAM, *flags, script="../../app.py", **told)


def finished(page, model):
    page.wait_for_function("() => !document.querySelector('#lv-run').disabled && document.querySelector('.lv-card table')")
    page.wait_for_function("(name) => document.querySelector('.lv-source').textContent.includes('model ' + name)", arg=model)


def test_a_large_model_comes_from_the_hub_while_the_small_one_answers(browser, hub, tmp_path):
    go = threading.Event()
    hub.fail("*model-00003*", seconds=600, until=go, times=1, methods=("GET",))
    with started(hub, tmp_path / "home", "--adapter", LORA) as (url, _), tab(browser, url) as page:
        page.wait_for_selector(f".lv-notice:has-text('{TITLE} is on its way')")
        page.click("#lv-run")
        finished(page, "lopa-tiny")
        go.set()
        page.wait_for_selector(".lv-notice", state="hidden")
        page.click("#lv-run")
        finished(page, "dream-instruct-d2f (commit")
    assert not any(path.endswith((".py", ".bin", ".pt")) for _, path in hub.requests)


def test_a_model_that_cannot_be_had_is_said_on_the_page(browser, hub, tmp_path):
    go = threading.Event()
    hub.fail("*model-00002*", status=403, code="GatedRepo", seconds=600, until=go, methods=("GET",))
    with started(hub, tmp_path / "home") as (url, _), tab(browser, url) as page:
        go.set()  # not before the app has begun to serve: it ends if it hears of it at once
        page.wait_for_selector(".lv-notice:has-text('cannot be used here')")
        assert "HF_TOKEN" in page.inner_text(".lv-notice")
        page.click("#lv-run")
        finished(page, "lopa-tiny")

"""The tab on scaling: the recorded curves, a sweep without a browser, and one in it that finishes and one that is stopped."""

from __future__ import annotations

import json

import gradio as gr
import pytest

from lopa_core.bench.files import save
from lopa_core.bench.sweep_file import read
from lopa_core.page import scaling, sweeping
from lopa_core.page.run import Stop, states
from lopa_core.page.shelf import Shelf
from lopa_core.page.sweeping import OVER_K, OVER_TAU, start_sweep
from lopa_core.page.widgets import defaults
from lopa_core.runtime.local import LocalEngine

from ..bench.samples import model, report
from .conftest import tab
from .samples import page_model
from .test_browser import still


@pytest.fixture(scope="module")
def shelf():
    return Shelf(model(), page_model())


@pytest.fixture
def counted(monkeypatch):
    """A list that grows by one with every forward of any engine in this process."""
    happened, forward = [], LocalEngine.forward
    monkeypatch.setattr(LocalEngine, "forward", lambda engine, window: happened.append(1) or forward(engine, window))
    monkeypatch.setattr(sweeping, "TICK", 0)
    return happened


def sweep(shelf, stop=None, over=OVER_K, lookaheads=(0, 2), taus=(0.5,), count=5, model="lopa-tiny", recorded=None, **changes):
    values = defaults(shelf.main.source) | {"max_new_tokens": 16} | changes
    return states(lambda: start_sweep(shelf, recorded, over, lookaheads, taus, count, model, values), stop or Stop())


def figure(state, name="scaling-k"):
    return json.loads(state[0]["figures"][name])


def points(state, name="scaling-k"):
    return len(figure(state, name)["table"]["rows"])


def test_curves_grow_point_by_point_to_the_end(shelf, counted):
    *shown, (nothing, sentence, traces) = sweep(shelf)
    told = [state for state, _, _ in shown]
    assert nothing is None and sentence == "" and traces is None
    assert sorted({points(state) for state in told}) == [0, 1, 2]
    shares = [progress["share"] for _, progress in told]
    assert shares == sorted(shares) and (shares[0], shares[-1]) == (0, 1)
    texts = [progress["text"] for _, progress in told]
    assert texts[-1] == "All 2 points are measured." and "lopa-tiny on CPU" in texts[0]
    assert any("at k = 2, τ = 0.9 problem 3 of 5, about 0:" in text for text in texts)
    caption = figure(told[-1])["caption"]
    assert "Live: 5 held-out word problems and word lists, lopa-tiny" in caption and "With New tokens 16." in caption


def test_over_the_threshold_there_are_both_decoders(shelf):
    *shown, _ = sweep(shelf, over=OVER_TAU, lookaheads=(), lookahead=2)
    assert points(shown[-1][0], "scaling-tau") == 2 and "scaling-k" not in shown[-1][0][0]["figures"]


def test_a_wanted_stop_ends_it_within_a_round_and_keeps_the_points(shelf, counted):
    stop, last = Stop(), None
    for state, _, _ in sweep(shelf, stop):
        if state and points(state) == 1 and not stop.wanted and "at k = 2" in state[1]["text"]:
            stop.wanted, before = True, len(counted)
        last = state or last
    assert len(counted) <= before + 1 and points(last) == 1
    assert last[1]["text"] == "Stopped; 1 of 2 points are measured and stay."


def test_a_visitor_who_leaves_stops_the_engine(shelf, counted):
    running = sweep(shelf)
    while not counted:
        next(running)
    before = len(counted)
    running.close()
    assert len(counted) == before


def test_others_get_their_turn_after_a_while(shelf, monkeypatch):
    monkeypatch.setattr(sweeping, "LONGEST", 0.0)
    *_, (state, _, _), (_, sentence, _) = sweep(shelf)
    assert "0 of 2 points" in state[1]["text"] and "others get their turn" in sentence


def test_the_recorded_run_is_drawn_behind_its_own_model_only(shelf):
    told = report() | {"model": "lopa-tiny"}
    assert "Grey is the recorded run." in figure(next(sweep(shelf, recorded=told))[0])["caption"]
    assert "Grey" not in figure(next(sweep(shelf, recorded=told | {"model": "another"}))[0])["caption"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"model": "dream-a"}, "has no tokenizer"), ({"model": "elsewhere"}, "no model 'elsewhere'"), ({"count": 4}, "5 to 50 problems"),
        ({"count": 1000}, "5 to 50 problems"), ({"lookaheads": ()}, "at least one value"),
        ({"over": OVER_TAU, "taus": ()}, "at least one value"),
        ({"block_size": 12}, "not a whole number of blocks of 12"), ({"lookaheads": (65,)}, "k, lookahead branches must"),
    ],
)  # fmt: skip
def test_what_cannot_be_swept_is_said_in_a_sentence(shelf, counted, wrong, words):
    ((state, said, _),) = sweep(shelf, **wrong)
    assert state is None and words in said and said.endswith(".") and "\n" not in said and counted == []


def test_where_a_gpu_is_lent_for_each_decode_there_is_no_sweep(shelf, monkeypatch):
    monkeypatch.setattr(type(model()), "lent", True)
    ((_, said, _),) = sweep(shelf)
    assert "lent for one decode at a time" in said


def test_the_report_that_comes_along_has_all_curves():
    told = read(scaling.REPORT)
    assert told["model"] == "lopa-tiny" and len(told["aup"]) == 3 and told["lookaheads"] == list(range(15))
    assert {(each["lookahead"], each["tau_conf"]) for each in told["points"]} >= {(14, 0.9), (0, 0.5), (7, 0.95)}


@pytest.mark.parametrize("text", [None, "{}"])
def test_without_a_report_the_tab_says_so_and_a_sweep_still_runs(monkeypatch, tmp_path, text):
    monkeypatch.setattr(scaling, "REPORT", tmp_path / "none.json")
    if text:
        (tmp_path / "none.json").write_text(text)
    with gr.Blocks() as page:
        assert scaling.recorded_run() is None
    (notice,) = (each.value for each in page.blocks.values() if isinstance(each, gr.HTML))
    assert "none.json" in notice and "python -m lopa_core sweep" in notice


def test_names_in_a_report_are_text(monkeypatch, tmp_path):
    save(report() | {"hardware": "<img src=x onerror=alert(1)>"}, tmp_path / "sweep.json")
    monkeypatch.setattr(scaling, "REPORT", tmp_path / "sweep.json")
    with gr.Blocks() as page:
        assert scaling.recorded_run()
    line = next(each.value for each in page.blocks.values() if getattr(each, "elem_id", None) == "lv-scaling-source")
    assert "<img" not in line and "&lt;img" in line


def test_recorded_curves_a_live_sweep_and_one_that_is_stopped(browser, address, forwards):
    with tab(
        browser, f"{address}?tab=scaling&max_new_tokens=16", shown="#lv-scaling [data-figure=scaling-k] .main-svg .points path"
    ) as page:
        assert "sweep --task mixed" in page.inner_text("#lv-scaling-source")
        assert page.locator("#lv-scaling [data-figure=scaling-k] .points path").count() >= 30
        ids = page.locator("[id]:not([id=''])").evaluate_all("nodes => nodes.map(({ id }) => id)")
        assert len(ids) == len(set(ids))
        boxes = page.locator("#lv-sweep-asked fieldset").nth(1).locator("input[type=checkbox]")
        for index in range(boxes.count()):
            boxes.nth(index).uncheck()
        page.click("#lv-sweep-run")
        page.wait_for_selector(".lv-banner:not([hidden]) >> text=take at least one value")
        boxes.nth(0).check()
        boxes.nth(2).check()
        page.fill("#lv-sweep-asked input[type=number]", "5")
        page.click("#lv-sweep-run")
        page.wait_for_selector(".lv-progress >> text=All 2 points are measured.")
        page.wait_for_selector("#lv-sweep-run:not([disabled])")
        page.locator("#lv-scaling-live [data-figure=scaling-k]").scroll_into_view_if_needed()
        page.wait_for_selector("#lv-scaling-live [data-figure=scaling-k] .main-svg .points path")
        assert "With New tokens 16." in page.inner_text("#lv-scaling-live [data-figure=scaling-k] figcaption")
        page.get_by_label("Threshold τ").check()
        page.get_by_role("checkbox", name="0.95").wait_for()
        page.fill("#lv-sweep-asked input[type=number]", "50")  # more than a slow click could wait for
        page.click("#lv-sweep-run")
        page.wait_for_selector(".lv-progress >> text=/of 12 points; at k = .* problem/")
        page.click("#lv-sweep-stop")
        page.wait_for_selector(".lv-progress >> text=/Stopped; .* of 12 points/")
        assert still(forwards)
        page.wait_for_selector("#lv-sweep-run:not([disabled])")
        assert page.is_visible("#lv-scaling-live [data-figure=scaling-tau]")

"""All decoders on the page: both sides of the race, their cards, and what a benchmark measured of them."""

from __future__ import annotations

import json
from types import SimpleNamespace

import gradio as gr
import pytest
from playwright.sync_api import expect

from lopa_core.bench.report import ReportError, read
from lopa_core.decode.decoders import DECODERS
from lopa_core.decode.rules.registry import cards
from lopa_core.page import decoders, rules
from lopa_core.page.events import race_it
from lopa_core.page.run import Stop, start, states
from lopa_core.page.shelf import Shelf
from lopa_core.page.what_if import what_if
from lopa_core.view.lanes import TITLES
from lopa_core.view.replay import replay_html

from .conftest import tab
from .samples import PROMPT_TEXT, VALUES, page_model

SHORT = VALUES | {"max_new_tokens": 16, "block_size": 8, "lookahead": 2}


@pytest.mark.parametrize("name", [name for name in DECODERS if name != "confidence"])
def test_every_decoder_races_on_the_right(name):
    shelf = Shelf(page_model())
    seen = list(states(lambda: start(shelf, PROMPT_TEXT, "dream-a", "confidence", name, SHORT), Stop()))
    assert not any(sentence for _, sentence, _ in seen)
    last = [state for state, _, _ in seen if state][-1]
    assert last["status"] == "finished" and last["lanes"][1]["title"] == TITLES[name] and last["card"]
    assert "<script" in replay_html(last)
    traces = seen[-1][2]
    chosen = len(traces[1].rounds[-1].branches) - 1
    *_, other = [each for each, _, _ in states(lambda: what_if(shelf, traces, 1, len(traces[1].rounds) - 1, chosen), Stop()) if each]
    assert [lane["role"] for lane in other["lanes"]][2] == "whatif" and other["status"] == "finished"


def test_every_decoder_is_somebodys():
    """And has a title, and every rule but a cache a decoder to race."""
    users = {card.name + card.kind: rules.users(card) for card in cards()}
    assert {name for names in users.values() for name in names} == set(DECODERS) and set(TITLES) >= set(DECODERS)
    assert users["thresholdselection"] == ["confidence"] and users["lookaheadbranching"] == ["lopa", "lopa-paper"]
    assert all(names for key, names in users.items() if not key.endswith("suffix"))


def test_every_decoder_is_told_in_a_line():
    lines = {name: rules.in_a_line(name) for name in DECODERS}
    assert all(": " in line and line.endswith(".") and "\n" not in line for line in lines.values())
    assert lines["lopa+leap"].startswith("arXiv 2605.10980: ") and lines["wino"].startswith("arXiv 2507.18578: a written token")


def test_a_card_puts_its_decoder_on_the_right():
    def sides(left, right, **event):
        return race_it(left, right, SimpleNamespace(**event))

    assert sides("confidence", "lopa", decoder="leap")[:2] == ("confidence", "leap")
    assert sides("leap", "lopa", decoder="leap")[:2] == ("lopa", "leap")
    nothing = gr.skip()
    assert sides("leap", "lopa", decoder=["leap"])[0] == sides("leap", "lopa")[2] == nothing
    html = decoders.shelf_html()
    assert all(f"data-decoder='{name}'" in html for name in DECODERS)
    assert "href='?right=lopa%2Bleap'" in html and "href='?right=confidence&amp;left=lopa'" in html


def test_without_a_report_the_tab_says_so_and_keeps_its_cards(monkeypatch, tmp_path):
    monkeypatch.setattr(decoders, "REPORT", tmp_path / "none.json")
    with gr.Blocks() as page:
        decoders.decoders_tab()
    notice, shelf = (each.value for each in page.blocks.values() if isinstance(each, gr.HTML))
    assert "There is no none.json" in notice and shelf.count("<article>") == len(cards())


def test_the_report_that_comes_along_has_every_decoder():
    report = read(decoders.REPORT)
    assert {row["decoder"] for row in report["results"]} == set(DECODERS) and report["model"] == "lopa-tiny"


@pytest.mark.parametrize(
    "damage",
    [
        lambda told: told.update(version=9), lambda told: told["results"][0].pop("seconds"), lambda told: told.update(results=[]),
        lambda told: told["results"][1].update(rounds=-1), lambda told: told["results"][1].update(rounds=float("nan")),
        lambda told: told.update(hardware=None), lambda told: told["results"][0].update(problems=0),
    ],
)  # fmt: skip
def test_a_damaged_report_is_one_sentence(tmp_path, damage):
    told = json.loads(decoders.REPORT.read_text())
    damage(told)
    (tmp_path / "report.json").write_text(json.dumps(told))
    with pytest.raises(ReportError, match="^report.json is [^\n]*$"):
        read(tmp_path / "report.json")


@pytest.mark.parametrize("text", [None, "", "[]", "{", "[" * 100_000])
def test_what_is_no_report_is_one_sentence(tmp_path, text):
    if text is not None:
        (tmp_path / "report.json").write_text(text)
    with pytest.raises(ReportError, match="report.json"):
        read(tmp_path / "report.json")


def test_the_tab_shows_charts_and_cards_and_sends_a_decoder_to_the_race(browser, address):
    with tab(browser, f"{address}?tab=decoders", shown="#lv-cards article") as page:
        page.wait_for_selector("#lv-decoders .lv-figure[data-figure=pareto-rounds] .main-svg .points path")
        assert page.locator("#lv-cards article").count() == len(cards()) and not page.is_visible(".lv-transport >> nth=0")
        assert "python -m lopa_core bench" in page.inner_text("#lv-decoders figcaption >> nth=0")
        page.click("#lv-decoders summary >> nth=0")
        expect(page.locator("#lv-decoders .lv-table >> nth=0").locator("tbody tr")).to_have_count(len(DECODERS))
        ids = page.locator("[id]:not([id=''])").evaluate_all("nodes => nodes.map(({ id }) => id)")
        assert len(ids) == len(set(ids))
        assert page.evaluate("document.querySelectorAll('script[src*=plotly]').length") == 1
        page.get_by_role("tab", name="Race").click()
        page.fill("#lv-prompt textarea", "What is 2 + 2?")
        page.get_by_role("tab", name="Decoders").click()
        page.click("#lv-cards >> text=Race LocalLeap")
        page.wait_for_selector(".lv-lane .lv-t")
        page.wait_for_function("document.activeElement.id === 'lv-run'")
        assert page.input_value("#lv-prompt textarea") == "What is 2 + 2?" and page.url.endswith("?tab=decoders")
        assert "local_tau within local_radius slots" in page.text_content("#lv-settings")
        page.click("#lv-run")
        page.wait_for_function("[...document.querySelectorAll('.lv-lane h2')].some((title) => title.textContent === 'LocalLeap')")
        page.wait_for_selector("#lv-run:not([disabled])")
        assert "example made by hand" in page.inner_text(".lv-how >> nth=0")  # no longer the words of the first sight's LoPA


def test_a_chart_shrinks_when_the_settings_take_room(browser, address):
    fits = "(() => { const box = document.querySelector('#lv-decoders .lv-scroll'); return [box.clientWidth, box.scrollWidth]; })()"
    with tab(browser, f"{address}?tab=decoders", shown="#lv-cards article") as page:
        page.wait_for_selector("#lv-decoders .lv-figure[data-figure=pareto-rounds] .main-svg .points path")
        before = page.evaluate(fits)[0]
        page.click(".toggle-button")
        page.wait_for_function(f"(() => {{ const [room, wide] = {fits}; return room < {before} && wide <= room; }})()")

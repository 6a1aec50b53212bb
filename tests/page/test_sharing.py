"""What leaves the page and comes back: permalinks, recordings, trace files and HTML replays, in a real browser."""

import json
import random
from urllib.parse import quote

import pytest

from lopa_core.page import gallery
from lopa_core.trace import files
from lopa_core.view.replay import replay_html
from lopa_core.view.state import loaded, recorded

from .conftest import tab
from .test_browser import PROBES, finish
from .test_viewer import TREE, seek, state


def test_a_permalink_brings_prompt_and_settings_to_another_visitor(browser, page, address):
    page.fill("#lv-prompt textarea", "What is 2 + 2? <b>&\u05d0 🦜")
    page.click("#lv-settings button >> nth=0")
    page.get_by_label("Left", exact=True).click()
    page.get_by_role("option", name="One token per pass").click()
    page.locator("#lv-settings").get_by_label("number input for k, lookahead branches").fill("3")
    page.keyboard.press("Tab")
    page.click("#lv-share")
    page.wait_for_function("document.querySelector('#lv-link textarea, #lv-link input')?.value.startsWith('http')")
    link = page.input_value("#lv-link textarea, #lv-link input")
    assert link.startswith(address) and page.url == link and "lookahead=3" in link and "left=vanilla" in link
    with tab(browser, link) as other:
        other.wait_for_function("document.querySelector('#lv-prompt textarea').value.startsWith('What is 2')")
        assert other.input_value("#lv-prompt textarea") == "What is 2 + 2? <b>&\u05d0 🦜"
        finish(other)
        assert other.inner_text(".lv-lane >> nth=0").startswith("One token per pass")
        assert other.locator('.lv-lane[data-role="lopa"]').count() == 1


def test_a_long_chinese_prompt_fits_into_a_link(browser, page):
    dice = random.Random(0)
    prompt = "".join(chr(dice.randint(0x4E00, 0x9FFF)) for _ in range(1990))
    page.fill("#lv-prompt textarea", prompt)
    page.click("#lv-share")
    page.wait_for_function("document.querySelector('#lv-link textarea, #lv-link input')?.value.startsWith('http')")
    link = page.input_value("#lv-link textarea, #lv-link input")
    assert page.url == link and len(link) < 8000
    with tab(browser, link) as other:
        other.wait_for_function("prompt => document.querySelector('#lv-prompt textarea').value === prompt", arg=prompt)
        assert not other.is_visible(".lv-banner")


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_a_hostile_permalink_is_text(browser, address, probe):
    with tab(browser, f"{address}?prompt={quote(probe)}&model={quote(probe)}&lookahead={quote(probe)}") as page:
        page.wait_for_selector(".lv-banner:not([hidden])")
        assert "something was left out" in page.inner_text(".lv-banner")
        assert page.input_value("#lv-prompt textarea") == probe and page.evaluate("window.hacked") is None


@pytest.mark.parametrize(("query", "words"), [
    ("replay=nothing", "There is no recording"), ("prompt=" + "x" * 10_000, "longer than 8000"),
    ("packed=eJyz", "The packed prompt is damaged"),
])  # fmt: skip
def test_a_link_to_nothing_is_a_sentence_and_the_first_recording_stays(browser, address, query, words):
    with tab(browser, f"{address}?{query}") as page:
        page.wait_for_selector(".lv-banner:not([hidden])")
        assert words in page.inner_text(".lv-banner") and page.inner_text(".lv-badge") == "Recorded"


def test_a_recording_is_watched_with_the_network_cut(browser, address):
    # the page asks the server for news every few seconds, which fails then
    with tab(browser, f"{address}?replay=one-token-per-pass", harmless="net::ERR_FAILED") as page:
        page.wait_for_function("document.querySelectorAll('.lv-lane').length === 3")
        page.wait_for_function("window.Plotly")
        page.context.route("**/*", lambda route: route.abort())
        seek(page, 4)
        assert state(page)["shown"] == [4, 4, 4]
        for card in page.locator(".lv-figure:not([hidden])").all():
            card.scroll_into_view_if_needed()
            card.locator(".main-svg").first.wait_for()


def test_a_chip_opens_its_recording(page):
    page.click("#lv-recordings >> text=Fifteen branches")
    page.wait_for_function("document.querySelector('.lv-asked').textContent.includes('tarts')")
    assert page.inner_text(".lv-badge") == "Recorded"


def test_a_downloaded_trace_opens_again(browser, page, address, tmp_path):
    finish(page)
    with page.expect_download() as download:
        page.click('[data-act="trace"]')
    file = tmp_path / "mine.json"
    download.value.save_as(file)
    traces = files.read(file)
    assert [trace.decoder for trace in traces] == ["confidence", "lopa"] and traces[1].texts and traces[1].reason == "eos"
    shown = page.locator(".lv-lane .lv-canvas").nth(1).text_content()
    with tab(browser, address) as other:
        other.set_input_files("#lv-recordings input[type=file]", file)
        other.wait_for_function("before => document.querySelectorAll('.lv-canvas')[1].textContent === before", arg=shown)
        assert other.inner_text(".lv-badge") == "Recorded"


@pytest.mark.parametrize("content", [b"no json", b'{"format": "lopa-trace", "version": 7, "traces": []}', b"[" * 200_000])
def test_a_damaged_upload_is_a_sentence_and_the_screen_stays(page, tmp_path, content):
    (tmp_path / "bad.json").write_bytes(content)
    before = page.inner_text(".lv-card h2")
    page.set_input_files("#lv-recordings input[type=file]", tmp_path / "bad.json")
    page.wait_for_selector(".lv-banner:not([hidden])")
    assert page.inner_text(".lv-banner").startswith("bad.json: ") and page.inner_text(".lv-card h2") == before


def test_the_html_replay_opens_from_disk_without_a_request(browser, page, tmp_path):
    finish(page)
    with page.expect_download() as download:
        page.click('[data-act="replay"]')
    file = tmp_path / "replay.html"
    download.value.save_as(file)
    shown = page.locator(".lv-lane .lv-canvas").nth(1).text_content()
    open_from_disk(browser, file, shown)


def test_the_replay_of_the_command_line_opens_from_disk(browser, tmp_path):
    traces = gallery.recording("as-published")
    file = tmp_path / "replay.html"
    file.write_text(replay_html(loaded(recorded("r", traces), traces)), encoding="utf-8")
    open_from_disk(browser, file, None)


def open_from_disk(browser, file, shown):
    """Everything works, nothing but the file itself is asked for, and a what-if says why it cannot be."""
    with tab(browser, file.as_uri()) as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.reload()
        page.wait_for_selector(".lv-lane .lv-t")
        assert shown is None or page.locator(".lv-lane .lv-canvas").nth(1).text_content() == shown
        for card in page.locator(".lv-figure:not([hidden])").all():
            card.scroll_into_view_if_needed()
            card.locator(".main-svg").first.wait_for()
        page.locator(TREE).scroll_into_view_if_needed()
        seek(page, 4)
        assert state(page)["shown"][:2] == [4, 4]
        assert page.inner_text(".lv-badge") == "Recorded" and page.locator('[data-act="replay"]:visible').count() == 0
        page.locator(f"{TREE} .lv-branches button:not(.won)").first.click()
        assert page.is_disabled(f"{TREE} .lv-whatif") and "cannot be decoded on" in page.inner_text(f"{TREE} .lv-panel")
        with page.expect_download() as download:
            page.click('[data-act="trace"]')
        assert json.loads(download.value.path().read_text(encoding="utf-8"))["format"] == files.FORMAT
        assert [url for url in asked if not url.startswith(("blob:", "data:"))] == [file.as_uri()]


@pytest.mark.parametrize(("kind", "begins"), [("png", b"\x89PNG"), ("svg", b"<svg")])
def test_every_chart_can_be_saved(page, kind, begins):
    for card in page.locator(".lv-figure:not([hidden])").all():
        card.scroll_into_view_if_needed()
        card.locator(".main-svg").first.wait_for()
        with page.expect_download() as download:
            card.locator(f'[data-save="{kind}"]').click()
        content = download.value.path().read_bytes()
        assert content.startswith(begins) and len(content) > 2000

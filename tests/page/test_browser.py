"""A run on the page in a real browser: from typing to the score-card, stop, leaving, waiting, wrong and hostile input."""

import time

import pytest

from lopa_core.tasks.examples import EXAMPLES

from .conftest import VIEWER, drawn, tab

PROBES = {
    "image": '<img src=x onerror="window.hacked=1">',
    "template": "${window.hacked=1} {{window.hacked}} %%",
    "markdown": "[a](javascript:window.hacked=1) **b** `c` <script>window.hacked=1</script>",
    "right to left": "\u202eevil\u202c \u05e9\u05dc\u05d5\u05dd \u2066x\u2069",
    "emoji": "🦜🏴‍☠️ 2 + 2",
}
# remembers each status the first lane has shown, with its committed tokens: a race may last a moment only
WATCH = """() => {
    window.seen = new Map();
    const look = () => {
        const lane = document.querySelector('.lv-lane');
        if (lane) seen.set(lane.dataset.status, lane.querySelectorAll('.done').length);
    };
    new MutationObserver(look).observe(document.querySelector('.lv'), { attributes: true, subtree: true, childList: true });
}"""
ENDED = """document.querySelectorAll('.lv-lane[data-status="finished"]').length >= 2
    && document.querySelector('.lv-badge').dataset.kind === 'live'"""


def finish(page):
    """Run to the end; what an earlier run has left on the page is not taken for it."""
    before = page.evaluate(f"{VIEWER}.state().run")
    page.click("#lv-run")
    page.wait_for_function(f"before => {VIEWER}.state().run !== before", arg=before)
    page.wait_for_function(ENDED)
    page.wait_for_selector("#lv-run:not([disabled])")


def begin_long_run(page):
    page.click("#lv-settings button >> nth=0")
    page.get_by_label("Left", exact=True).click()
    page.get_by_role("option", name="One token per pass").click()
    page.click("#lv-settings button >> nth=0")
    page.click("#lv-run")
    page.wait_for_function("document.querySelector('.lv-lane[data-status=running]')?.querySelectorAll('.done').length > 3")


def test_first_sight_is_a_recording_with_everything_drawn(page):
    assert page.inner_text(".lv-badge") == "Recorded" and "2026" in page.inner_text(".lv-source")
    assert page.is_visible(".lv-card") and page.is_visible(".lv-transport") and page.locator(".lv-lane .lv-t.done").count() > 60
    assert len(page.input_value("#lv-prompt textarea")) > 50
    assert page.is_disabled("#lv-stop") and page.is_enabled("#lv-run") and not page.is_visible(".lv-legend-back")


def test_from_typing_to_the_score_card_in_the_same_chart_nodes(page):
    page.fill("#lv-prompt textarea", "Ana has 12 pens. She buys 30 more pens. How many pens does Ana have?")
    page.locator(".lv-figure").first.scroll_into_view_if_needed()
    page.wait_for_selector(".lv-plot .main-svg")
    page.evaluate("window.nodes = [...document.querySelectorAll('.lv-plot, .lv-plot .main-svg')]")
    page.evaluate(WATCH)
    finish(page)
    assert page.evaluate("seen.has('running') && seen.get('finished') > 5")
    drawn(page)
    assert page.evaluate("nodes.length >= 7 && nodes.every((node) => node.isConnected)")
    assert "Forward passes" in page.inner_text(".lv-card") and "passes" in page.inner_text(".lv-card h2")
    assert page.inner_text(".lv-asked").startswith("Ana has 12 pens")


def test_an_example_knows_its_answer(page):
    before = page.input_value("#lv-prompt textarea")
    page.click("#lv-chips >> text=Shells")
    page.wait_for_function("before => document.querySelector('#lv-prompt textarea').value !== before", arg=before)
    finish(page)
    told = page.inner_text(".lv-card")
    assert told.count("✓ right") + told.count(f"✗ wrong, it is {EXAMPLES['Shells'].answer}") == 2


ZOOMED = """(name) => {
    const { xaxis, yaxis } = document.querySelector(`[data-figure="${name}"] .lv-plot`)._fullLayout;
    return [xaxis.range, yaxis.range].map((range) => range.map((end) => Math.round(100 * end) / 100));
}"""


# remembers every drawing that shows something else than the ranges given
WATCH_ZOOM = f"""([name, wanted]) => {{
    window.drawings = 0;
    window.jumps = [];
    document.querySelector(`[data-figure="${{name}}"] .lv-plot`).on('plotly_afterplot', () => {{
        const ranges = JSON.stringify(({ZOOMED})(name));
        drawings += 1;
        if (ranges !== JSON.stringify(wanted)) jumps.push(ranges);
    }});
}}"""


def zoom_in(page, name):
    """Draw a box over the middle of a figure, as a visitor does; the ranges that it then shows."""
    page.locator(f'[data-figure="{name}"] .lv-plot').scroll_into_view_if_needed()
    drawn(page, name)
    before = page.evaluate(ZOOMED, name)
    box = page.locator(f'[data-figure="{name}"] .nsewdrag').first.bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.8 * box["height"], steps=5)
    page.mouse.up()
    page.wait_for_function(f"([name, before]) => JSON.stringify(({ZOOMED})(name)) !== JSON.stringify(before)", arg=[name, before])
    return page.evaluate(ZOOMED, name)


def test_zoom_survives_another_run(page):
    finish(page)
    zoomed, before = zoom_in(page, "tokens"), page.evaluate(f"{VIEWER}.state().end")
    page.evaluate(WATCH_ZOOM, ["tokens", zoomed])
    page.fill("#lv-prompt textarea", EXAMPLES["Two in one"].question)
    finish(page)
    page.locator('[data-figure="tokens"] .lv-plot').scroll_into_view_if_needed()
    drawn(page, "tokens")
    assert page.evaluate(f"{VIEWER}.state().end") > before  # so that the axes have grown
    assert page.evaluate("[drawings > 0, jumps]") == [True, []] and page.evaluate(ZOOMED, "tokens") == zoomed


def test_each_clock_has_its_zoom_and_a_double_click_ends_them(page):
    page.locator('[data-figure="progress"] .lv-plot').scroll_into_view_if_needed()
    drawn(page, "progress")
    whole, zoomed = page.evaluate(ZOOMED, "progress"), {}
    for clock in ("pass", "time", "pass", "time"):
        page.click(f'[data-clock="{clock}"]')
        drawn(page, "progress")
        if clock not in zoomed:
            zoomed[clock] = zoom_in(page, "progress")
        assert page.evaluate(ZOOMED, "progress") == zoomed[clock]
    assert zoomed["pass"] != zoomed["time"]
    page.click('[data-clock="pass"]')
    drawn(page, "progress")
    page.locator('[data-figure="progress"] .nsewdrag').first.dblclick()
    page.wait_for_function(f"whole => JSON.stringify(({ZOOMED})('progress')) === JSON.stringify(whole)", arg=whole)


def still(forwards):
    """Whether the engine does nothing for a second."""
    before = forwards.stat().st_size
    time.sleep(1)  # longer than a forward of the app takes
    return forwards.stat().st_size == before


def test_stop_ends_the_run_within_a_round_and_keeps_what_the_lanes_have(page, forwards):
    begin_long_run(page)
    page.click("#lv-stop")
    page.wait_for_selector('.lv-lane[data-status="stopped"]')
    page.wait_for_selector("#lv-run:not([disabled])")
    assert page.is_disabled("#lv-stop") and "Stopped" in page.inner_text(".lv-card h2")
    assert page.locator(".lv-lane >> nth=0").locator(".lv-t.done").count() > 3
    assert still(forwards)


def test_closing_the_tab_ends_the_run(browser, address, forwards):
    with tab(browser, address) as page:
        page.fill("#lv-prompt textarea", EXAMPLES["Two in one"].question)
        before = forwards.stat().st_size
        begin_long_run(page)
    while not still(forwards):
        pass
    assert forwards.stat().st_size < before + 80  # one token per pass alone would have taken more


def test_a_second_visitor_waits_in_the_queue_and_sees_nothing_of_the_first(browser, address):
    with tab(browser, address) as first, tab(browser, address) as second:
        begin_long_run(first)
        asked = second.inner_text(".lv-asked")
        second.click("#lv-run")
        second.wait_for_function("/queue: 1.1/i.test(document.querySelector('#lv-waiting').innerText)")
        assert second.inner_text(".lv-asked") == asked and second.inner_text(".lv-badge") == "Recorded"
        first.click("#lv-stop")
        second.wait_for_function(ENDED)
        assert first.locator('.lv-lane[data-status="stopped"]').count() >= 1


def test_wrong_input_is_a_sentence_and_the_screen_stays(page):
    finish(page)
    told = page.inner_text(".lv-card h2")
    page.fill("#lv-prompt textarea", "word " * 2000)
    page.click("#lv-run")
    page.wait_for_selector(".lv-banner:not([hidden])")
    assert "10000 characters" not in page.inner_text(".lv-banner") and "takes up to 2000" in page.inner_text(".lv-banner")
    assert page.inner_text(".lv-card h2") == told and page.is_enabled("#lv-run") and page.is_disabled("#lv-stop")
    assert page.locator(".toast-body").count() == 0


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_a_hostile_prompt_is_shown_as_text(page, probe):
    page.fill("#lv-prompt textarea", probe)
    finish(page)
    shown = page.text_content(".lv-asked")
    assert shown == probe or "⟨U+202E⟩" in shown
    assert page.evaluate("window.hacked") is None and page.locator(".lv img, .lv script").count() == 0

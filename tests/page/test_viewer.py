"""The viewer in a real browser: time travel, tokens, branches and what-ifs, on recordings and on traces made hostile."""

import json

import pytest

from lopa_core.page import gallery
from lopa_core.trace import files

from .conftest import FRAMES, VIEWER, charts, drawn, tab
from .test_browser import PROBES, finish

TREE = '[data-figure="tree-1"]'
CLICK_POINT = f"""([round, branch]) => {{
    const plot = document.querySelector('{TREE} .lv-plot');
    for (const trace of plot.data) {{
        const i = (trace.customdata ?? []).findIndex((each) => each[1] === round && each[2] === branch);
        if (i < 0) continue;
        const {{ xaxis, yaxis }} = plot._fullLayout;
        const box = plot.getBoundingClientRect();
        return [box.left + xaxis._offset + xaxis.l2p(trace.x[i]), box.top + yaxis._offset + yaxis.l2p(trace.y[i])];
    }}
}}"""


def state(page):
    return page.evaluate(VIEWER + ".state()")


def wait_for_committed(page, lane, count):
    page.wait_for_function(
        "([lane, count]) => document.querySelectorAll('.lv-lane')[lane].querySelectorAll('.lv-t.done').length === count", arg=[lane, count]
    )


def seek(page, position):
    page.evaluate("""(at) => {
        const range = document.querySelector('.lv-seek');
        range.value = at;
        range.dispatchEvent(new Event('input', { bubbles: true }));
    }""", position)  # fmt: skip
    drawn(page)


LAST = max(len(trace.rounds) for trace in gallery.recording("zoo-tickets"))


@pytest.fixture
def recording(browser, address):
    with tab(browser, f"{address}?replay=zoo-tickets") as page:
        page.wait_for_function(VIEWER + ".state().run !== 'first'")  # the same recording is there at first sight
        yield page


def test_scrubbing_moves_both_lanes_and_their_counters(recording):
    baseline, lopa = gallery.recording("zoo-tickets")
    for n in (0, 1, 5, LAST - 1, LAST, 3):
        seek(recording, n)
        for lane, trace in enumerate((baseline, lopa)):
            rounds = trace.rounds[:n]
            wait_for_committed(recording, lane, sum(len(each.committed) for each in rounds))
            assert recording.locator(f".lv-lane >> nth={lane}").locator(".lv-counters dd").first.inner_text() == str(len(rounds))
    assert recording.inner_text(".lv-where") == f"pass 3 of {LAST}"


def test_by_real_time_each_lane_shows_what_it_had_then(recording):
    baseline, lopa = gallery.recording("zoo-tickets")
    recording.click('[data-clock="time"]')
    when = lopa.rounds[3].seconds + 1e-4
    seek(recording, when)
    assert state(recording)["shown"] == [sum(each.seconds <= when for each in trace.rounds) for trace in (baseline, lopa)]


def test_play_runs_to_the_end_and_pause_holds(recording):
    recording.select_option(".lv-speed", label="1 pass/s")
    recording.click('[data-move="play"]')
    recording.wait_for_function(f"{VIEWER}.state().at > 0.2")
    recording.click('[data-move="play"]')
    held = state(recording)
    recording.evaluate(FRAMES, 10)
    assert 0 < state(recording)["at"] == held["at"] < LAST and not held["playing"]
    recording.select_option(".lv-speed", label="8 passes/s")
    recording.click('[data-move="play"]')
    recording.wait_for_function(f"{VIEWER}.state().at === {LAST} && !{VIEWER}.state().playing")


def test_keys_step_play_and_jump(recording):
    recording.locator(".lv-card h2").click()
    for key, at in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", LAST)):
        recording.keyboard.press(key)
        recording.wait_for_function(f"at => {VIEWER}.state().at === at", arg=at)
    recording.locator("#lv-prompt textarea").click()
    recording.keyboard.press("Home")
    assert state(recording)["at"] == LAST


def test_charts_cursors_move_together(recording):
    recording.locator(".lv-figures").scroll_into_view_if_needed()
    charts(recording)
    places = "[...document.querySelectorAll('.lv-over *')].map((each) => each.style.transform + each.style.width + each.style.left).join()"
    seek(recording, 2)
    before = recording.evaluate(places)
    seek(recording, LAST - 1)
    assert before and recording.evaluate(places) != before


def test_a_token_tells_about_itself(recording):
    chip = recording.locator(".lv-lane >> nth=1").locator(".lv-t.brought").first
    chip.hover()
    recording.wait_for_selector("#lv-tip:not([hidden])")
    told = recording.inner_text("#lv-tip")
    assert "lookahead" in told and "pass" in told and "0." in told
    recording.mouse.move(5, 5)
    recording.locator(".lv-lane >> nth=0").locator(".lv-t").first.focus()
    recording.keyboard.press("ArrowRight")
    recording.wait_for_selector("#lv-tip:not([hidden])")


def losing_branch(trace):
    return next((i, b) for i, each in enumerate(trace.rounds) for b in range(len(each.branches)) if b != each.winner)


SAME = """() => {
    const [, lopa, other] = [...document.querySelectorAll('.lv-lane .lv-canvas')].map((canvas) => canvas.textContent);
    return lopa === other;
}"""


def choose_loser(page):
    """Click a losing branch's node in the tree; returns (round, branch)."""
    round_, branch = losing_branch(gallery.recording("zoo-tickets")[1])
    page.locator(f"{TREE} .main-svg").first.wait_for()
    page.locator(f"{TREE} .lv-plot").scroll_into_view_if_needed()
    drawn(page)
    page.mouse.click(*page.evaluate(CLICK_POINT, [round_, branch]))
    page.wait_for_function(f"pass => document.querySelector('{TREE} .lv-panel h3').textContent.startsWith('Pass ' + pass)", arg=round_ + 1)
    return round_, branch


def test_a_click_on_a_node_shows_that_branchs_canvas(recording):
    recording.locator(TREE).scroll_into_view_if_needed()
    round_, branch = choose_loser(recording)
    tried = gallery.recording("zoo-tickets")[1].rounds[round_].branches[branch]
    assert recording.get_attribute(f'{TREE} .lv-branches [data-branch="{branch}"]', "aria-pressed") == "true"
    facts = recording.inner_text(f"{TREE} .lv-facts")
    assert f"slot {tried.slot + 1}" in facts and f"{tried.probability:.3f}" in facts
    assert recording.locator(f"{TREE} .lv-panel .lv-t.ghost").count() == len(tried.seen.slots)
    assert recording.locator(f"{TREE} .lv-panel .lv-t.tried").count() == 1


def test_what_if_decodes_the_other_future_as_a_third_lane(recording):
    recording.locator(TREE).scroll_into_view_if_needed()
    round_, branch = choose_loser(recording)
    recording.click(f"{TREE} .lv-whatif")
    recording.wait_for_selector('.lv-lane[data-role="whatif"][data-status="finished"]')
    recording.wait_for_selector("#lv-run:not([disabled])")
    assert recording.locator(".lv-lane").count() == 3 and state(recording)["shown"][2] > round_
    assert "What if" in recording.inner_text(".lv-card thead") and f"pass {round_ + 1}" in recording.inner_text(".lv-card aside")
    for n in range(round_ + 1):  # the same up to the fork
        seek(recording, n)
        recording.wait_for_function(SAME)


def test_a_live_run_can_be_branched_off_too(page):
    finish(page)
    page.locator(TREE).scroll_into_view_if_needed()
    page.locator(f"{TREE} .lv-branches").wait_for()
    for n in range(1, 9):
        seek(page, n)
        if page.locator(f"{TREE} .lv-branches button:not(.won)").count():
            break
    page.locator(f"{TREE} .lv-branches button:not(.won)").first.click()
    page.click(f"{TREE} .lv-whatif")
    page.wait_for_selector('.lv-lane[data-role="whatif"][data-status="finished"]')
    assert page.inner_text(".lv-badge") == "Live"


def test_three_decoders_stand_side_by_side(browser, address):
    with tab(browser, f"{address}?replay=as-published") as page:
        page.wait_for_function("document.querySelectorAll('.lv-lane').length === 3")
        assert page.locator(".lv-figure[data-figure^=tree]").count() == 2 and page.locator(".lv-card thead th").count() == 3


def test_how_it_works_is_drawn_from_the_run_on_screen(recording):
    words = recording.inner_text(".lv-how")
    assert "pass" in words and "example made by hand" not in words
    seek(recording, 3)
    recording.wait_for_function("before => document.querySelector('.lv-how').innerText !== before", arg=words)


@pytest.mark.parametrize("probe", [*PROBES.values(), "x" * 10_000], ids=[*PROBES, "10,000 characters"])
def test_a_hostile_trace_is_drawn_as_text(page, tmp_path, probe):
    raw = json.loads((gallery.REPLAYS / "zoo-tickets.json").read_text(encoding="utf-8"))
    for trace in raw["traces"]:
        short = probe[:300]
        trace |= {
            "prompt": probe,
            "text": probe,
            "texts": [short] * len(trace["tokens"]),
            "model": short,
            "hardware": short,
            "decoder": short,
        }
        trace |= {"pieces": {token: short for token in trace["pieces"]}, "devices": [short], "recorded": short}
    file = tmp_path / "hostile.json"
    file.write_text(json.dumps(raw), encoding="utf-8")
    assert files.read(file)
    page.set_input_files("#lv-recordings input[type=file]", file)
    page.wait_for_function(
        "document.querySelector('.lv-asked').textContent.length && !document.querySelector('.lv-asked').textContent.includes('Hazel')"
    )
    charts(page)
    page.locator(".lv-lane .lv-t.done").nth(3).hover()
    assert page.evaluate("window.hacked") is None and page.locator(".lv img, .lv script, .lv a[href^=javascript]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")

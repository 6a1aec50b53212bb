"""Right-to-left and mixed texts in a real browser, by where the tokens stand: reading order, joined words, arrow keys."""

import contextlib
from pathlib import Path

import pytest

from lopa_core.trace import files
from lopa_core.view.replay import replay_html
from lopa_core.view.state import loaded, recorded

from .conftest import tab
from .test_viewer import TREE, seek
from .writings import PASSES, TEXTS, trace

HEBREW = Path(__file__).parent / "traces" / "hebrew.json"
LANE, PANEL = ".lv-lane .lv-canvas", f"{TREE} .lv-panel .lv-canvas"
NEAR = 0.75  # px
# [left, right, top, text, whether a blank stands before it] of every token that shows something
PLACES = """(canvas) => [...canvas.querySelectorAll('.lv-t')].filter((chip) => chip.textContent).map((chip) => {
    const { left, right, top, height } = chip.getClientRects()[0];
    return [left, right, top + height / 2, chip.textContent, /^\\s/.test(chip.previousSibling.data)];
})"""
# how wide a word is as one text, in the letters of the canvas
WIDTH = """(canvas, word) => {
    const whole = document.createElement('span');
    whole.textContent = word;
    canvas.firstChild.append(whole);
    const { width } = whole.getBoundingClientRect();
    whole.remove();
    return width;
}"""


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """The page of an HTML replay, by the name of its text, in a window as wide as asked for."""
    folder = tmp_path_factory.mktemp("replays")
    pages = {}

    def replay(name, width=1280):
        if name not in pages:
            traces = files.read(HEBREW) if name == "hebrew" else (trace(TEXTS[name], "confidence"), trace(TEXTS[name]))
            file = folder / f"{name}.html"
            file.write_text(replay_html(loaded(recorded("r", traces), traces)), encoding="utf-8")
            pages[name] = tabs.enter_context(tab(browser, file.as_uri()))
        pages[name].set_viewport_size({"width": width, "height": 900})
        return pages[name]

    with contextlib.ExitStack() as tabs:
        yield replay


def places(page, canvas=LANE):
    return page.locator(canvas).first.evaluate(PLACES)


def pairs(shown):
    """Neighbours in the text that stand on one line."""
    return [(one, two) for one, two in zip(shown, shown[1:]) if abs(one[2] - two[2]) < 10]


def assert_from_right_to_left(shown):
    assert len(pairs(shown)) > 5
    for (left, *_, word), (_, right, _, after, apart) in ((one[:4], two) for one, two in pairs(shown)):
        assert right <= left + NEAR, (word, after)
        assert apart or "end" in (word, after) or "·" in (word, after) or left - right < NEAR, (word, after)


@pytest.mark.parametrize("name", ["hebrew", "arabic", "persian"])
def test_words_and_pieces_stand_in_reading_order(opened, name):
    page = opened(name)
    for position in (1, 2, 99):
        seek(page, position)
        assert_from_right_to_left(places(page))


@pytest.mark.parametrize(("name", "words"), [("arabic", ["المعلمة", "المستشفيات"]), ("persian", ["خرید", "بخورد"])])
def test_letters_join_across_tokens_and_blocks(opened, name, words):
    page = opened(name)
    seek(page, PASSES)
    for word in words:
        shown = places(page)
        spans = [shown[first:last] for last in range(len(shown) + 1) for first in range(last)]
        (span,) = (each for each in spans if "".join(text for *_, text, _ in each) == word)
        assert len(span) > 1 and span[0][1] - span[-1][0] == pytest.approx(page.locator(LANE).first.evaluate(WIDTH, word), abs=NEAR)


def test_names_and_numbers_keep_their_own_order_inside(opened):
    page = opened("latin names", 1600)
    for position in (1, PASSES):
        seek(page, position)
        girl, dana, le, vi, found, one, seven, sheep, *_ = (each[0] for each in places(page))
        assert max(sheep, one, seven) < found < dana < le < vi < girl
    assert sheep < one < seven
    *_, lon, don, dot = (each for each in places(page) if each[3] != "end")
    assert dot[0] < lon[0] < don[0] and abs(lon[1] - don[0]) < NEAR


def test_every_paragraph_has_its_own_direction(opened):
    page = opened("paragraphs")
    shown = {text.strip("↵\n"): (left, right) for left, right, _, text, _ in places(page)}
    box = page.locator(LANE).first.bounding_box()
    edge = box["x"] + box["width"]
    assert shown["ענת"][1] == pytest.approx(edge, abs=1) == pytest.approx(shown["גם"][1], abs=1)
    assert shown["הלכה"][0] < shown["ענת"][0] and shown["דן"][0] < shown["גם"][0]
    assert shown["Ana"][0] == pytest.approx(box["x"], abs=1) and shown["Ana"][0] < shown["went"][0] < shown["sea"][0]


def test_hebrew_inside_english_turns_by_itself_only(opened):
    page = opened("english")
    shown = {text: left for left, _, _, text, _ in places(page)}
    assert shown["Ana"] < shown["has"] < shown["תפוחים"] < shown["שבע"] < shown["and"] < shown["3"] < shown["pears"] < shown["."]


@pytest.mark.parametrize("position", [1, PASSES])
def test_a_left_to_right_text_stands_as_ever(opened, position):
    page = opened("plain")
    seek(page, position)
    shown = places(page)
    assert shown[0][0] == pytest.approx(page.locator(LANE).first.bounding_box()["x"], abs=1)
    for one, two in pairs(shown):
        assert one[1] <= two[0] + NEAR
        assert two[4] or "·" in (one[3], two[3]) or two[3] == "end" or two[0] - one[1] < NEAR


@pytest.mark.parametrize("name", ["arabic", "persian"])
def test_a_branch_of_the_tree_reads_alike(opened, name):
    page = opened(name)
    page.locator(TREE).scroll_into_view_if_needed()
    seek(page, 2)
    page.locator(f"{TREE} .lv-branches button:not(.won)").first.click()
    assert page.locator(f"{PANEL} .lv-t.tried").count() == 1
    assert_from_right_to_left(places(page, PANEL))
    assert page.inner_text(f"{TREE} .lv-facts").count("\u2068“") == 1


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", TEXTS)
def test_arrow_keys_move_as_the_eye_sees_it_and_reach_every_token(opened, name, width):
    page = opened(name, width)
    seek(page, 1)
    from_right = name not in ("english", "plain")
    on, back = ("ArrowLeft", "ArrowRight") if from_right else ("ArrowRight", "ArrowLeft")
    page.locator(f"{LANE} .lv-t").first.focus()
    page.keyboard.press("Home")
    way = [where(page)]
    for _ in range(60):
        page.keyboard.press(on)
        if where(page) == way[-1]:
            break
        way.append(where(page))
    same_line = [(one, two) for one, two in zip(way, way[1:]) if abs(one[2] - two[2]) < 10]
    assert all((two[1] < one[1]) == from_right for one, two in same_line)
    assert len({slot for slot, *_ in way}) == len(way)
    if name != "paragraphs":  # whose second one goes the other way
        assert len(way) == len(places(page))
        for slot, *_ in reversed(way[:-1]):
            page.keyboard.press(back)
            assert where(page)[0] == slot


def where(page):
    """Slot, centre across and centre down of the token that has the focus."""
    return page.evaluate("""() => {
        const { left, right, top, bottom } = document.activeElement.getClientRects()[0];
        return [document.activeElement.dataset.slot, (left + right) / 2, (top + bottom) / 2];
    }""")


def test_the_page_itself_and_its_fields_do_so_too(page):
    page.set_input_files("#lv-recordings input[type=file]", HEBREW)
    page.wait_for_function("document.querySelector('.lv-asked').textContent.includes('לילדה')")
    assert_from_right_to_left(places(page))
    right = "(node) => { const range = new Range(); range.selectNodeContents(node); return range.getBoundingClientRect().right; }"
    asked = page.locator(".lv-asked").bounding_box()
    assert page.locator(".lv-asked").evaluate(right) == pytest.approx(asked["x"] + asked["width"] - 17, abs=2)
    style = page.locator("#lv-prompt textarea").evaluate("(node) => [getComputedStyle(node).unicodeBidi, getComputedStyle(node).textAlign]")
    assert style == ["plaintext", "start"]
    page.locator(".lv-lane .lv-t.done").first.hover()
    assert page.inner_text("#lv-tip b") == "\u2068“הילדה”\u2069"

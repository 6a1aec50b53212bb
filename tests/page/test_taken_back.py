"""The viewer shows drafts of several tokens, and tokens that were taken back as masks again, at every pass."""

from __future__ import annotations

from lopa_core.trace.trace import Trace
from lopa_core.view.replay import replay_html
from lopa_core.view.state import loaded, recorded

from ..view.test_shelf import trace
from .conftest import tab
from .test_viewer import seek


def standing(shown: Trace, rounds: int) -> dict[int, str]:
    """{slot: text} of what is written after so many rounds."""
    told: dict[int, str] = {}
    for each in shown.rounds[:rounds]:
        told |= {slot: shown.pieces[token].strip() for slot, token, _ in each.committed}
        for slot in each.taken:
            del told[slot]
    return told


SHOWN = """() => [...document.querySelectorAll('.lv-lane')].map((lane) => {
    const chips = [...lane.querySelectorAll('.lv-t')].map((chip, slot) => [slot, chip.classList, chip.innerText.trim()]);
    const texts = chips.filter(([, look]) => look.contains('done')).map(([slot, , text]) => [slot, text]);
    return [texts, chips.filter(([, look]) => look.contains('back')).map(([slot]) => slot)];
})"""


def test_every_pass_shows_what_stands_there(browser, tmp_path):
    traces = [trace(name) for name in ("wino", "saber", "freedave")]
    longest = max(len(each.rounds) for each in traces)
    file = tmp_path / "replay.html"
    file.write_text(replay_html(loaded(recorded("r", traces), traces)), encoding="utf-8")
    with tab(browser, file.as_uri()) as page:
        page.wait_for_selector(".lv-lane .lv-t")
        for n in (longest, *range(longest), longest // 2, longest):
            seek(page, n)
            for shown, (texts, back) in zip(traces, page.evaluate(SHOWN), strict=True):
                done = min(n, len(shown.rounds))
                assert dict(texts) == standing(shown, done)
                assert back == sorted(shown.rounds[done - 1].taken if 0 < done < len(shown.rounds) else ())
        assert page.is_visible(".lv-legend-back") and "example made by hand" in page.inner_text(".lv-how")

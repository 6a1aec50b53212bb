"""The viewer shows drafts of several tokens, and tokens that were taken back as masks again, at every pass."""

from __future__ import annotations

import pytest

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


SHOWN = """() => [...document.querySelectorAll('.lv-lane .lv-t')]
    .map((chip, slot) => [slot, chip.classList.contains('done'), chip.innerText.trim()])
    .filter(([, done]) => done).map(([slot, , text]) => [slot, text])"""


@pytest.mark.parametrize("name", ["wino", "saber", "freedave"])
def test_every_pass_shows_what_stands_there(browser, tmp_path, name):
    shown = trace(name)
    file = tmp_path / "replay.html"
    file.write_text(replay_html(loaded(recorded("r", [shown]), [shown])), encoding="utf-8")
    with tab(browser, file.as_uri()) as page:
        page.wait_for_selector(".lv-lane .lv-t")
        count = len(shown.rounds)
        for n in (count, *range(count), count // 2, count):
            seek(page, n)
            assert dict(page.evaluate(SHOWN)) == standing(shown, n)

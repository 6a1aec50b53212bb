"""Texts of either direction inside English sentences: isolated where they must be, as they are where not."""

from dataclasses import replace

import pytest

from lopa_core.view.agreement import agreement
from lopa_core.view.direction import apart
from lopa_core.view.lanes import lanes
from lopa_core.view.tree import hover, tree_figure

from .samples import pair


@pytest.mark.parametrize("text", ["שלום", "صدف", "خرید 19", "Dana דנה", "ދިވެހި", "ܫܠܡܐ", "\U0001e900\U0001e901", "\ufefb"])
def test_right_to_left_texts_of_any_script_stand_apart(text):
    assert apart(text) == f"\u2068{text}\u2069"


@pytest.mark.parametrize("text", ["", "shells", "贝壳", "ракушки", "शंख", "19 + 2", "🐚", "e\u0301"])
def test_all_others_stay_as_they_are(text):
    assert apart(text) == text


def test_what_would_turn_the_sentence_around_is_spelled():
    assert apart("\u202eabc\u2069") == "\u2066⟨U+202E⟩\u2069abc\u2066⟨U+2069⟩\u2069"


def test_the_tree_and_the_score_card_quote_words_apart():
    traces = [replace(trace, pieces=dict.fromkeys(trace.pieces, " צדף"), text=text) for trace, text in zip(pair(), ("זה אחד", "זה שתיים"))]
    lopa = traces[1]
    number, index, branch = next((n, i, b) for n, each in enumerate(lopa.rounds) for i, b in enumerate(each.branches) if not b.anchor)
    assert hover(lopa, number, index, branch).startswith("tries \u2068“ צדף”\u2069 in slot ")
    assert any("\u2068“ צדף”\u2069 in slot" in row[2] for row in tree_figure(traces, 1)["table"]["rows"])
    assert "After \u2068“זה”\u2069 one goes on \u2068“אחד”\u2069 and the other \u2068“שתיים”\u2069." in agreement(lanes(traces))[0]

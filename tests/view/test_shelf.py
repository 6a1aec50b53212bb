"""Figures and viewer state of decoders that leave the anchor out, write drafts, take tokens back or superpose copies."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import permutations

import pytest

from lopa_core.decode.decoders import DECODERS
from lopa_core.trace.metrics import measure
from lopa_core.trace.trace import Trace
from lopa_core.view.confidence import confidence_figure
from lopa_core.view.figures import figures
from lopa_core.view.lanes import lanes, pair
from lopa_core.view.scorecard import LABELS, headline, scorecard
from lopa_core.view.state import loaded, recorded
from lopa_core.view.tree import tree_figure

from ..helpers.traces import SMALL
from ..helpers.traces import recorded as decoded
from .samples import PIECES

SHELF = {
    "adaptive-lopa": replace(SMALL, tau_conf=0.9, branching="adaptive", adaptive_sure=0.2),
    "freedave": replace(SMALL, selection="one", branching="draft"),
    "wino": replace(SMALL, lookahead=0, selection="wino", remask="wino", wino_tau=0.2, wino_keep=0.6),
    "saber": replace(SMALL, lookahead=0, selection="saber", remask="saber", saber_least=4),
    "leap": replace(SMALL, lookahead=0, selection="leap", leap_eta=0.05, leap_tau=0.3),
}


@cache
def trace(name: str) -> Trace:
    return replace(decoded(SHELF[name], decoder=name), pieces=PIECES)


def test_the_samples_have_what_they_are_for():
    assert any(not each.branches[-1].anchor for each in trace("adaptive-lopa").rounds)
    assert any(each.brought_count > 1 for each in trace("freedave").rounds)
    assert all(any(each.taken for each in trace(name).rounds) for name in ("wino", "saber"))
    assert any(each.copies for each in trace("leap").rounds)


@pytest.mark.parametrize("name", SHELF)
def test_every_figure_and_the_state_can_be_drawn(name):
    traces = [decoded(SMALL.decoder("confidence"), decoder="confidence"), trace(name)]
    assert all(each["summary"] for each in figures(traces).values())
    state = loaded(recorded("replay", traces), traces)
    lane = state["lanes"][1]
    assert lane["counts"][-1][0] == measure(trace(name)).tokens
    assert [json.loads(each)["taken"] for each in lane["rounds"]] == [list(each.taken) for each in trace(name).rounds]


def test_the_score_card_tells_of_copies_and_of_tokens_taken_back_only_where_there_are_any():
    def labels(*names):
        return {row["label"] for row in scorecard([trace(name) for name in names], None)["rows"]}

    extra, back = LABELS["extra_tokens"], LABELS["taken_back"]
    assert extra in labels("leap") and back not in labels("leap")
    assert {extra, back} <= labels("wino", "freedave")
    assert not {extra, back} & labels("freedave", "adaptive-lopa")


def test_no_two_sides_look_or_read_alike():
    some = trace("leap")
    for left, right in permutations(DECODERS, 2):
        shown = lanes([replace(some, decoder=left), replace(some, decoder=right)])
        assert shown[0].accent != shown[1].accent and shown[0].title != shown[1].title
        assert {lane.index for lane in pair(shown)} == {0, 1}


def test_names_keep_their_capitals_in_a_sentence():
    wino, leap, plain = (replace(trace("leap"), decoder=name) for name in ("wino", "leap", "vanilla"))
    assert headline(lanes([wino, replace(leap, rounds=leap.rounds[:3])])).split(", ")[1].startswith("WINO ")
    assert "one token per pass" in headline(lanes([plain, replace(leap, rounds=leap.rounds[:3])]))


def test_drafts_are_weighed_by_steps_and_not_by_confidence():
    draft = trace("freedave")
    drawn = tree_figure([draft], 0)
    assert drawn["table"]["head"][3] == "Steps ahead" and {row[3] for row in drawn["table"]["rows"]} <= {"0", "1", "2", "3", "4"}
    assert any(" more" in row[2] for row in drawn["table"]["rows"])
    assert confidence_figure([draft]) is None and len(confidence_figure([draft, trace("adaptive-lopa")])["plots"]["pass"]["data"]) == 3
    assert loaded(recorded("replay", [draft]), [draft])["lanes"][0]["score"] == ["steps ahead", 0]

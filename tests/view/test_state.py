"""The viewer's state: plain JSON, rounds in the trace format, and only ever growing while a race runs."""

import json
from dataclasses import asdict, replace

import pytest

from lopa_core.page.run import Stop, start, states
from lopa_core.page.shelf import Shelf
from lopa_core.page.widgets import defaults
from lopa_core.runtime.session import open_model
from lopa_core.trace import files
from lopa_core.trace.metrics import measure
from lopa_core.view.state import About, loaded, recorded, round_text

from ..page.samples import PROMPT_TEXT, VALUES, page_model, pair

ABOUT = About(run="run-1", source="somewhere")


def test_whole_traces_make_a_state_of_plain_json():
    state = loaded(ABOUT, pair())
    assert json.loads(json.dumps(state)) == state
    assert state["status"] == "finished" and [lane["decoder"] for lane in state["lanes"]] == ["confidence", "lopa"]
    assert state["card"] and list(state["figures"])[:2] == ["tokens", "progress"] and "tree-1" in state["figures"]
    for text in state["figures"].values():
        assert set(json.loads(text)) == {"title", "caption", "summary", "table", "plots"}


def test_rounds_are_in_the_trace_format():
    trace = pair()[1]
    assert json.loads(round_text(trace.rounds[2])) == json.loads(json.dumps(asdict(trace.rounds[2])))


def test_a_lane_holds_everything_of_its_trace():
    """What the viewer offers for download is put together from a lane: nothing may be missing."""
    traces = [replace(trace, texts=("x",) * len(trace.tokens), special=(3,), forced=((1, 0),)) for trace in pair()]
    rebuilt = []
    for lane in loaded(ABOUT, traces)["lanes"]:
        own = {name: lane[name] for name in ("decoder", "reason", "end_ids", "mask_id", "special", "forced", "tokens", "texts", "pieces")}
        rebuilt.append(lane["head"] | own | {"rounds": [json.loads(each) for each in lane["rounds"]]})
    assert files.loads(json.dumps({"format": files.FORMAT, "version": files.VERSION, "traces": rebuilt})) == tuple(traces)


def test_lanes_carry_what_the_canvas_needs():
    trace, lane = pair()[1], loaded(ABOUT, pair())["lanes"][1]
    assert lane["slots"] == 32 and lane["block_size"] == 16 and lane["end_ids"] == list(trace.end_ids)
    assert lane["counts"][-1] == [measure(trace).tokens, trace.rounds[-1].seconds] and len(lane["counts"]) == len(lane["rounds"])
    assert lane["pieces"][str(trace.tokens[0])] == f" t{trace.tokens[0]}"


def test_unfinished_traces_are_marked_stopped():
    state = loaded(ABOUT, pair(2))
    assert state["status"] == "stopped" and [lane["status"] for lane in state["lanes"]] == ["stopped"] * 2


@pytest.mark.parametrize(
    ("when", "said"), [("2026-11-30T20:38:42+00:00", "Recorded 30 November 2026 on"), ("soon", "Recorded on"), ("", "Recorded on")]
)
def test_a_recording_says_when_and_where(when, said):
    about = recorded("r", [replace(pair()[0], recorded=when)])
    assert about.source.startswith(said) and "test" in about.source and not about.live and about.what_if


def test_states_of_a_race_grow_and_never_share_a_list(monkeypatch):
    monkeypatch.setattr("lopa_core.page.run.TICK", 0)
    monkeypatch.setattr("lopa_core.page.run.STATE_SHARE", 0)
    shelf = Shelf(page_model())
    told = states(lambda: start(shelf, PROMPT_TEXT, "dream-a", "confidence", "lopa", VALUES), Stop())
    seen = [state for state, _, _ in told if state]
    assert len(seen) > 10 and len({state["run"] for state in seen}) == 1
    for before, after in zip(seen, seen[1:]):
        for old, new in zip(before["lanes"], after["lanes"]):
            for name in ("rounds", "counts"):
                assert new[name] is not old[name] and new[name][: len(old[name])] == old[name]


def test_nothing_in_a_state_ever_gets_shorter(monkeypatch):
    """Gradio sends differences, and cannot tell its browser side that a list inside a list lost its end."""
    monkeypatch.setattr("lopa_core.page.run.TICK", 0)
    monkeypatch.setattr("lopa_core.page.run.STATE_SHARE", 0)
    shelf = Shelf(open_model())
    question, usual = "Ana has 12 pens. She buys 30 more. How many?", defaults(shelf.main.source)
    told = states(lambda: start(shelf, question, "lopa-tiny", "confidence", "lopa", usual), Stop())
    seen = [state for state, _, _ in told if state]
    assert len(seen) > 10
    assert seen[-1]["lanes"][1]["reason"] == "eos" and len(seen[-1]["lanes"][1]["tokens"]) < seen[-1]["lanes"][1]["slots"]
    for before, after in zip(seen, seen[1:]):
        assert not list(shrunk(before, after))


def shrunk(before, after, where=""):
    """Places where a list of `before` is longer than the one of `after`, or a key is gone."""
    if isinstance(before, dict):
        yield from (f"{where}.{key}" for key in before if key not in after)
        for key in before:
            yield from shrunk(before[key], after[key], f"{where}.{key}")
    elif isinstance(before, list):
        if len(before) > len(after):
            yield where
        for index, (old, new) in enumerate(zip(before, after)):
            yield from shrunk(old, new, f"{where}.{index}")

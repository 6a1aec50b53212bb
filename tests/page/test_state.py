"""The viewer's state: plain JSON, rounds in the trace format, and only ever growing while a race runs."""

import json
from dataclasses import asdict

from lopa_core.page.run import Shelf, Stop, states
from lopa_core.page.state import loaded, round_text

from .samples import PROMPT_TEXT, VALUES, page_model, pair


def test_whole_traces_make_a_state_of_plain_json():
    state = loaded("run-1", pair())
    assert json.loads(json.dumps(state)) == state
    assert state["status"] == "finished" and [lane["decoder"] for lane in state["traces"]] == ["confidence", "lopa"]
    assert state["card"] and set(state["figures"]) == {"tokens", "tree"}
    for text in state["figures"].values():
        assert set(json.loads(text)) == {"data", "layout", "summary", "table"}


def test_rounds_are_in_the_trace_format():
    trace = pair()[1]
    read = json.loads(round_text(trace.rounds[2]))
    assert read == json.loads(json.dumps(asdict(trace.rounds[2])))


def test_lanes_carry_what_the_canvas_needs():
    trace, lane = pair()[1], loaded("run-1", pair())["traces"][1]
    assert lane["slots"] == 32 and lane["block_size"] == 16 and lane["eos_id"] == trace.eos_id
    assert lane["counters"]["rounds"] == len(trace.rounds) == len(lane["rounds"])
    assert lane["pieces"][str(trace.tokens[0])] == f" t{trace.tokens[0]}"


def test_unfinished_traces_are_marked_stopped():
    state = loaded("run-1", pair(2))
    assert state["status"] == "stopped" and [lane["status"] for lane in state["traces"]] == ["stopped"] * 2


def test_states_of_a_race_grow_and_never_share_a_list(monkeypatch):
    monkeypatch.setattr("lopa_core.page.run.TICK", 0)
    seen = [state for state, _ in states(Shelf(page_model()), Stop(), PROMPT_TEXT, "dream-a", "confidence", VALUES)]
    assert len(seen) > 10 and len({state["run"] for state in seen}) == 1
    for before, after in zip(seen, seen[1:]):
        for old, new in zip(before["traces"], after["traces"]):
            assert new["rounds"] is not old["rounds"] and new["rounds"][: len(old["rounds"])] == old["rounds"]

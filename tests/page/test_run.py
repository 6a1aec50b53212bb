"""A run without a browser: states to the end, a sentence for every wrong input, and cancelling that stops the engine."""

import logging

import pytest

from lopa_core.page import run
from lopa_core.page.run import Stop, start, states
from lopa_core.page.shelf import LONGEST_PROMPT, Shelf
from lopa_core.runtime.local import LocalEngine
from lopa_core.runtime.race import LocalRace

from .samples import PROMPT_TEXT, VALUES, page_model, pair


def race(prompt=PROMPT_TEXT, model="dream-a", left="confidence", right="lopa", stop=None, shelf=None, **changes):
    shelf = shelf or Shelf(page_model())
    return states(lambda: start(shelf, prompt, model, left, right, VALUES | changes), stop or Stop())


def last_state(told):
    return [state for state, _, _ in told if state][-1]


@pytest.fixture
def forwards(monkeypatch):
    """A list that grows by one with every forward of any engine."""
    happened, forward = [], LocalEngine.forward
    monkeypatch.setattr(LocalEngine, "forward", lambda engine, window: happened.append(1) or forward(engine, window))
    monkeypatch.setattr(run, "TICK", 0)
    return happened


@pytest.mark.parametrize("left", ["confidence", "vanilla"])
def test_a_run_ends_with_both_lanes_finished(left):
    *shown, (nothing, sentence, traces) = race(left=left)
    state = last_state(shown)
    assert nothing is None and sentence == "" and state["status"] == "finished" and state["card"]
    assert [lane["decoder"] for lane in state["lanes"]] == [trace.decoder for trace in traces] == [left, "lopa"]
    assert all(lane["status"] == "finished" for lane in state["lanes"])
    assert state["source"]["kind"] == "live" and "a test machine" in state["source"]["text"] and state["what_if"] == ""


def test_a_run_decodes_what_the_recorder_does():
    assert [len(lane["rounds"]) for lane in last_state(race())["lanes"]] == [len(trace.rounds) for trace in pair()]


def test_a_byte_order_mark_of_a_pasted_text_is_dropped():
    marked, plain = (race(prompt) for prompt in (f"\ufeff{PROMPT_TEXT}\n", PROMPT_TEXT))
    *_, (_, sentence, traces) = marked
    *_, (_, _, others) = plain
    assert sentence == "" and traces[0].prompt == PROMPT_TEXT and [each.tokens for each in traces] == [each.tokens for each in others]


def test_whole_numbers_may_arrive_as_floats():
    assert last_state(race(max_new_tokens=32.0, seed=0.0, tau_conf=1))["status"] == "finished"


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"prompt": "  \n"}, "The prompt is empty"),
        ({"prompt": "x" * (LONGEST_PROMPT + 1)}, f"takes up to {LONGEST_PROMPT}"),
        ({"prompt": "no ids"}, "has no tokenizer"),
        ({"prompt": "1 \ud83d 2"}, "half a character at place 3"),
        ({"prompt": "1 2 9999"}, "Token 9999 lies outside the vocabulary"),
        ({"prompt": "3 " * 900, "max_new_tokens": 1920}, "this model has room for"),
        ({"model": "elsewhere"}, "no model 'elsewhere'"),
        ({"left": "lopa"}, "Both sides are LoPA"),
        ({"right": "nobody"}, "no decoder 'nobody'"),
        ({"block_size": 12}, "not a whole number of blocks of 12"),
        ({"block_size": 64}, "longer than the 32 new tokens"),
        ({"lookahead": 1.5}, "k, lookahead branches must be a whole number"),
        ({"seed": None}, "but it is empty"),
        ({"tau_conf": "high"}, "τ conf must lie between"),
        ({"attention": "causal"}, "Attention must be one of"),
    ],
)
def test_wrong_input_is_said_in_a_sentence_and_leaves_the_screen(wrong, sentence):
    ((state, said, traces),) = race(**wrong)
    assert state is None and traces is None and sentence in said and said.endswith(".") and "\n" not in said


def test_a_wanted_stop_ends_the_run_after_the_round_under_way(forwards):
    stop, told = Stop(), []
    for state, _, traces in race(stop=stop):
        if state and any(lane["rounds"] for lane in state["lanes"]) and not stop.wanted:
            stop.wanted, before = True, len(forwards)
        told.append((state, "", traces))
    assert len(forwards) <= before + 1
    last = last_state(told)
    assert last["status"] == "stopped" and last["card"]["headline"].startswith("Stopped")
    assert sum(len(lane["rounds"]) for lane in last["lanes"]) == sum(len(trace.rounds) for trace in told[-1][2]) >= 1


def test_a_stop_during_the_warm_up_ends_the_run_before_a_round(forwards):
    stop = Stop()
    running = race(stop=stop)
    next(running)
    stop.wanted = True
    assert last_state(running)["status"] == "stopped" and len(forwards) <= 1


def test_a_stop_while_waiting_in_the_queue_runs_nothing(forwards):
    stop = Stop()
    stop.wanted = True
    ((state, said, _),) = race(stop=stop)
    assert state is None and "before it began" in said and forwards == []


def test_a_visitor_who_leaves_stops_the_engine(forwards, monkeypatch):
    ended, original = [], LocalRace.run

    def watched(self):
        try:
            yield from original(self)
        finally:
            ended.append(True)

    monkeypatch.setattr(LocalRace, "run", watched)
    running = race()
    next(running), next(running)
    before = len(forwards)
    running.close()
    assert ended == [True] and len(forwards) == before


def test_two_visitors_do_not_meet():
    shelf = Shelf(page_model())
    one, two = race(shelf=shelf, stop=Stop()), race(shelf=shelf, stop=Stop(), left="vanilla")
    next(one), next(two)
    last_one, last_two = last_state(one), last_state(two)
    assert last_one["run"] != last_two["run"]
    assert last_one["lanes"][1]["tokens"] == last_two["lanes"][1]["tokens"]


def test_the_unexpected_is_logged_and_keeps_what_is_on_screen(monkeypatch, caplog):
    monkeypatch.setattr(run, "TICK", 0)
    happened, forward = [], LocalEngine.forward

    def breaks(engine, window):
        happened.append(1)
        if len(happened) > 12:
            raise RuntimeError("secret detail")
        return forward(engine, window)

    monkeypatch.setattr(LocalEngine, "forward", breaks)
    with caplog.at_level(logging.ERROR):
        state, said, traces = list(race())[-1]
    assert "secret" not in said and "Something went wrong" in said and "secret detail" in caplog.text
    assert state["status"] == "stopped" and any(lane["rounds"] for lane in state["lanes"])
    assert [len(trace.rounds) for trace in traces] == [len(lane["rounds"]) for lane in state["lanes"]]

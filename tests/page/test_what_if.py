"""What if another branch had won: one more lane, the same up to the fork, and everything wrong said in a sentence."""

from dataclasses import replace

import pytest

from lopa_core.decode.settings import SettingsError
from lopa_core.page.run import Stop, states
from lopa_core.page.shelf import PageError, Shelf
from lopa_core.page.what_if import what_if

from .samples import PROMPT_TEXT, page_model, pair


def on_screen():
    return [replace(trace, prompt=PROMPT_TEXT) for trace in pair()]


def a_loser():
    """(round, branch) of a losing branch that is not in the first round."""
    for index, each in enumerate(pair()[1].rounds[2:], 2):
        for branch in range(len(each.branches)):
            if branch != each.winner:
                return index, branch
    raise AssertionError("no losing branch")


def told(traces, lane, round_, branch):
    shelf = Shelf(page_model())
    return list(states(lambda: what_if(shelf, traces, lane, round_, branch), Stop()))


def test_the_other_future_is_a_third_lane():
    round_, branch = a_loser()
    *shown, (_, sentence, traces) = told(on_screen(), 1, round_, branch)
    last = shown[-1][0]
    assert sentence == "" and last["status"] == "finished" and [lane["role"] for lane in last["lanes"]] == ["baseline", "lopa", "whatif"]
    original, other = traces[1:]
    assert other.forced == ((round_, branch),) and other.rounds[round_].winner == branch
    assert [each.committed for each in other.rounds[:round_]] == [each.committed for each in original.rounds[:round_]]
    assert last["lanes"][2]["forced"] == [[round_, branch]] and len(last["card"]["columns"]) == 3


def test_another_what_if_takes_the_place_of_the_first_and_builds_on_it():
    round_, branch = a_loser()
    traces = told(on_screen(), 1, round_, branch)[-1][2]
    again = told(traces, 2, 0, 0)[-1][2]
    assert len(again) == 3 and again[2].forced == ((0, 0), (round_, branch))


@pytest.mark.parametrize("chosen", [(7, 0, 0), (-1, 0, 0), (1, 999, 0), (1, -1, 0), (1, 2, 99), (1, 2, -1)])
def test_a_branch_that_is_not_there_is_a_sentence(chosen):
    ((state, sentence, traces),) = told(on_screen(), *chosen)
    assert state is None and traces is None and sentence.startswith("There is no such")


def test_nothing_on_screen_is_a_sentence():
    assert "run or open something first" in told(None, 0, 0, 0)[0][1]


def test_a_recording_of_another_model_is_a_sentence():
    traces = [replace(trace, model="elsewhere") for trace in on_screen()]
    with pytest.raises(PageError, match="no model 'elsewhere'"):
        what_if(Shelf(page_model()), traces, 1, 0, 0)
    assert "elsewhere" in Shelf(page_model()).cannot("elsewhere") and Shelf(page_model()).cannot("dream-a") == ""


def test_settings_of_another_version_are_a_sentence():
    traces = [replace(trace, settings=trace.settings | {"unheard_of": 1}) for trace in on_screen()]
    with pytest.raises(SettingsError, match="another version"):
        what_if(Shelf(page_model()), traces, 1, 0, 0)


def test_a_recording_that_this_machine_decodes_differently_is_remarked():
    traces = on_screen()
    rounds = traces[1].rounds
    odd = replace(rounds[0], filled=rounds[0].filled[:-1])
    traces[1] = replace(traces[1], rounds=(odd, *rounds[1:]))
    assert "decodes differently" in told(traces, 1, *a_loser())[-1][1]

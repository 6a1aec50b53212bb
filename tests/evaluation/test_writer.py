"""The embedded model answering: in turn and one after the other alike, and no pass more once a stop string stands."""

from dataclasses import replace

import pytest

from lopa_core.decode.settings import DecodeSettings, SettingsError
from lopa_core.evaluation.errors import EvaluationError
from lopa_core.evaluation.journal import Journal, Request
from lopa_core.evaluation.writer import Writer
from lopa_core.model.presets import DEFAULT, PRESETS
from lopa_core.runtime.session import open_model

from .questions import GSM8K

SETTINGS = DecodeSettings(**PRESETS[DEFAULT].settings)
REQUESTS = [Request(key=str(place), prompt=each["question"]) for place, each in enumerate(GSM8K)]


@pytest.fixture(scope="module")
def model():
    return open_model()


@pytest.fixture
def writer(model, tmp_path):
    made = iter(range(100))
    return lambda settings=SETTINGS, **more: Writer(model, "lopa", settings, Journal(tmp_path / f"{next(made)}.jsonl", {}), **more)


def counts(answers):
    return [(each.text, each.metrics.rounds, each.metrics.branch_forwards, each.metrics.tokens) for each in answers]


def test_answers_are_the_model_s_own_whoever_is_in_flight(model, writer):
    alone, together = writer().write(REQUESTS), writer(in_flight=3).write(REQUESTS)
    assert counts(alone) == counts(together) and "####" in alone[0].text
    race = model.race(model.encode(GSM8K[0]["question"]), {"lopa": SETTINGS})
    for _ in race.run():
        pass
    (trace,) = model.traces(race, "")
    assert trace.text == alone[0].text and len(trace.rounds) == alone[0].metrics.rounds


def test_only_what_is_not_in_the_journal_is_written(model, writer, monkeypatch):
    mine = writer()
    first = mine.write(REQUESTS[:2])
    asked = []
    race = model.race
    monkeypatch.setattr(model, "race", lambda *told, **more: asked.append(told) or race(*told, **more))
    assert mine.write(REQUESTS)[:2] == first and len(asked) == 1


def test_a_stop_string_ends_the_decode(writer):
    (whole,) = writer().write(REQUESTS[:1])
    (short,) = writer().write([Request(key="0", prompt=REQUESTS[0].prompt, until=(" shells", "Leo"))])
    assert short.text == whole.text.split(" shells")[0]
    assert short.metrics.rounds <= whole.metrics.rounds and 0 < short.metrics.tokens < whole.metrics.tokens
    unstopped = DecodeSettings(**PRESETS[DEFAULT].settings | {"stop_at_eos": False})
    (to_the_end,) = writer(unstopped).write([Request(key="0", prompt=REQUESTS[0].prompt, until=(" shells",))])
    assert to_the_end.text == short.text and to_the_end.metrics.rounds >= whole.metrics.rounds


def test_a_stop_string_that_does_not_come_changes_nothing(writer):
    never = [Request(key=each.key, prompt=each.prompt, until=("@@",)) for each in REQUESTS[:1]]
    assert counts(writer().write(never)) == counts(writer().write(REQUESTS[:1]))


def test_the_longest_answer_is_a_whole_number_of_blocks(writer):
    (short,) = writer().write([Request(key="0", prompt=REQUESTS[0].prompt, longest=17)])
    assert short.metrics.slots_written <= 32
    (whole,) = writer().write([Request(key="0", prompt=REQUESTS[0].prompt, longest=10_000)])
    assert counts([whole]) == counts(writer().write(REQUESTS[:1]))


def test_what_does_not_fit_is_said_before_anything_is_written(writer):
    mine = writer()
    with pytest.raises(SettingsError, match="Question long: The prompt has"):
        mine.write([*REQUESTS, Request(key="long", prompt="pen " * 600)])
    assert not mine.journal.known


def test_blanks_at_the_ends_of_a_prompt_are_kept(model, writer):
    ids, _ = writer().encode(Request(key="0", prompt="\n x \n"))
    assert ids == model.tokenizer.encode_prompt("\n x \n") != model.encode("x")


@pytest.mark.parametrize("width", [0, 65])
def test_how_many_may_be_in_flight(writer, width):
    with pytest.raises(EvaluationError, match="between 1 and 64"):
        writer(in_flight=width)


def test_repeats_are_samples_of_other_seeds(writer):
    sampling = DecodeSettings(**PRESETS[DEFAULT].settings | {"temperature": 1.0, "seed": 3})
    first, second = (writer(sampling).encode(replace(REQUESTS[0], repeat=place))[1] for place in (0, 1))
    assert writer(sampling).samples and not writer().samples and (first.seed, second.seed) == (3, 4)


def test_keys_are_unique(writer):
    with pytest.raises(EvaluationError, match="both called 0"):
        writer().write([REQUESTS[0], REQUESTS[0]])

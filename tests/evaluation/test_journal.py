"""Answers on disk: what is resumed, and what is refused instead."""

import json

import pytest

from lopa_core.evaluation.errors import EvaluationError
from lopa_core.evaluation.journal import Answer, Journal, Request

from .writers import METRICS

RUN = {"model": "tiny", "decoder": "lopa", "settings": {"lookahead": 4}}
FIRST, SECOND = Request(key="q/0", prompt="How many?"), Request(key="q/1", prompt="How far?", until=("\n",))
ANSWER = Answer(text='7 "pens"\n\u2028', metrics=METRICS)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "run.samples.jsonl"
    Journal(path, RUN).add(FIRST, ANSWER)
    return path


def test_what_was_answered_is_found_again(path):
    journal = Journal(path, RUN, resume=True)
    assert journal.find(FIRST) == ANSWER and journal.find(SECOND) is None
    journal.add(SECOND, ANSWER)
    assert Journal(path, RUN, resume=True).find(SECOND) == ANSWER


def test_a_torn_last_line_is_dropped(path):
    whole = path.read_bytes()
    for torn in (b'{"key": "q/1", "te', b'{"key": "q/1"}', b"\xff"):
        path.write_bytes(whole + torn)
        journal = Journal(path, RUN, resume=True)
        assert journal.find(FIRST) == ANSWER and journal.find(SECOND) is None and path.read_bytes() == whole


def test_a_file_that_is_there_is_not_overwritten(path):
    before = path.read_bytes()
    with pytest.raises(EvaluationError, match="--resume"):
        Journal(path, RUN)
    assert path.read_bytes() == before


def test_another_run_is_named(path):
    with pytest.raises(EvaluationError, match=r"another run \(decoder, settings\)"):
        Journal(path, RUN | {"decoder": "vanilla", "settings": {"lookahead": 0}}, resume=True)


def test_another_question_of_the_same_key_is_noticed(path):
    journal = Journal(path, RUN, resume=True)
    with pytest.raises(EvaluationError, match="another question q/0"):
        journal.find(Request(key="q/0", prompt="How many?", until=("\n",)))


@pytest.mark.parametrize(
    "row", ["nonsense", "[]", "{}", {"text": 3}, {"metrics": {}}, {"metrics": {"rounds": 1}}, {"prompt": None}, "rounds"]
)
def test_a_damaged_line_is_named(path, row):
    head, line = path.read_text().splitlines()
    told = json.loads(line)
    if row == "rounds":
        told["metrics"]["rounds"] = "many"
    damaged = row if row in ("nonsense", "[]", "{}") else json.dumps(told | row if isinstance(row, dict) else told)
    path.write_text(f"{head}\n{damaged}\n")
    with pytest.raises(EvaluationError, match="damaged at line 2"):
        Journal(path, RUN, resume=True)


def test_an_empty_file_is_of_another_run(path):
    path.write_text("")
    with pytest.raises(EvaluationError, match="another run"):
        Journal(path, RUN, resume=True)

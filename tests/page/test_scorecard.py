"""The score-card words trace.metrics' numbers, says what is right, and where two texts part."""

from dataclasses import fields, replace

import pytest

from lopa_core.page.examples import EXAMPLES, known
from lopa_core.page.scorecard import LABELS, agreement, definitions, headline, scorecard
from lopa_core.trace.metrics import Metrics, measure

from .samples import pair


def said(*texts):
    return [replace(trace, text=text) for trace, text in zip(pair(), texts)]


def test_values_are_the_metrics():
    card = scorecard(pair(), None)
    values = {row["label"]: row["values"] for row in card["rows"]}
    measured = [measure(trace) for trace in pair()]
    assert card["columns"] == ["Confidence decoding", "LoPA"]
    assert values["Forward passes"] == [str(each.rounds) for each in measured]
    assert values["Branch-forwards"] == [str(each.branch_forwards) for each in measured]
    assert values[LABELS["tpf"]] == [f"{each.tpf:.2f}" for each in measured]


def test_headline_and_better_name_the_decoder_with_fewer_passes():
    base, lopa = pair()
    counts = [measure(base), measure(lopa)]
    assert counts[1].rounds < counts[0].rounds
    assert headline([base, lopa], counts).startswith(f"LoPA needed {counts[1].rounds} forward passes")
    assert "more than the" in headline([base, lopa], counts[::-1])
    assert headline([base, lopa], counts[:1] * 2).startswith("Both")
    assert scorecard([base, lopa], None)["rows"][0]["better"] == 1


def test_a_stopped_run_says_so():
    base, lopa = pair(3)
    assert base.reason == "stopped" and scorecard([base, lopa], None)["headline"].startswith("Stopped")


def test_answers_are_checked_against_the_known_problem():
    problem = next(iter(EXAMPLES.values()))
    card = scorecard(said(f"so\n#### {problem.answer}", "so\n#### 1000"), problem)
    right, wrong = next(row for row in card["rows"] if row["label"] == "Answer")["values"]
    assert "right" in right and "wrong" in wrong and str(problem.answer) in wrong


def test_no_answer_line_without_an_answer():
    assert all(row["label"] != "Answer" for row in scorecard(said("a", "b"), None)["rows"])


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ("same", "same ", ["same text"]),
        ("in 5 days there are 9 eggs", "in 5 days there are 90 eggs", ["there are", "“9 eggs”", "“90 eggs”"]),
        ("one", "two", ["From the start", "“one”", "“two”"]),
        ("one two", "", ["“one two”", "(nothing)"]),
    ],
)
def test_agreement_quotes_where_texts_part(left, right, words):
    sentence = agreement(said(left, right))
    assert all(word in sentence for word in words), sentence


def test_definitions_come_from_the_metrics_and_cover_every_label():
    assert {term for term, _ in definitions()} == set(LABELS.values())
    assert {each.name for each in fields(Metrics)} - {"network_seconds"} <= set(LABELS)


def test_the_remark_names_the_hardware():
    assert pair()[1].hardware in scorecard(pair(), None)["remark"]


def test_examples_are_held_out_problems_found_by_their_question():
    assert 4 <= len(EXAMPLES) <= 6 and len({each.family for each in EXAMPLES.values()}) == len(EXAMPLES)
    for each in EXAMPLES.values():
        assert known(f" {each.question}\n") is each
    assert known("What is 2 + 2?") is None

"""The score-card words trace.metrics' numbers for any number of lanes, says what is right, and where texts part."""

import json
from dataclasses import fields, replace

import pytest

from lopa_core.tasks.examples import EXAMPLES
from lopa_core.trace.metrics import Metrics, measure
from lopa_core.view.agreement import agreement
from lopa_core.view.lanes import lanes
from lopa_core.view.scorecard import LABELS, definitions, headline, scorecard

from .samples import on_devices, pair, trio


def said(*texts):
    return [replace(trace, text=text) for trace, text in zip(pair(), texts)]


def shorter(trace, count):
    """The same trace as if it had ended after fewer rounds."""
    return replace(trace, rounds=trace.rounds[:count])


def row(card, label):
    return next(each for each in card["rows"] if each["label"] == label)


def test_values_are_the_metrics():
    card = scorecard(trio(), None)
    measured = [measure(trace) for trace in trio()]
    assert json.loads(json.dumps(card)) == card
    assert card["columns"] == ["Confidence decoding", "LoPA", "What if"] and card["roles"] == ["baseline", "lopa", "whatif"]
    assert row(card, "Forward passes")["values"] == [str(each.rounds) for each in measured]
    assert row(card, "Branch-forwards")["values"] == [str(each.branch_forwards) for each in measured]
    assert row(card, LABELS["tpf"])["values"] == [f"{each.tpf:.2f}" for each in measured]
    assert all(len(each["values"]) == 3 for each in card["rows"])


def test_headline_and_better_name_the_decoder_with_fewer_passes():
    base, lopa = pair()
    many, few = len(base.rounds), len(lopa.rounds)
    assert few < many
    assert headline(lanes([base, lopa])) == f"LoPA needed {few} forward passes, confidence decoding {many}: {many / few:.1f} times as many."
    assert headline(lanes([lopa, base])) == headline(lanes([base, lopa]))
    assert "more than the 2 of confidence decoding" in headline(lanes([shorter(base, 2), shorter(lopa, 3)]))
    assert headline(lanes([shorter(base, 3), shorter(lopa, 3)])) == "Both decoders needed 3 forward passes."
    assert row(scorecard([base, lopa], None), "Forward passes")["better"] == 1
    assert row(scorecard([lopa, base], None), "Forward passes")["better"] == 0
    assert row(scorecard([base, lopa], None), "Branch-forwards")["better"] is None
    assert row(scorecard([base, base, base], None), "Forward passes")["better"] is None


def test_the_headline_stays_baseline_against_lopa():
    assert scorecard(trio(), None)["headline"] == scorecard(pair(), None)["headline"]
    paper = replace(trio()[2], decoder="lopa-paper", forced=())
    assert scorecard([paper, *pair()[::-1]], None)["headline"].startswith(f"LoPA needed {len(pair()[1].rounds)} forward passes")
    assert scorecard(pair()[1:], None)["headline"] == f"LoPA needed {len(pair()[1].rounds)} forward passes."
    assert scorecard(trio()[1:], None)["headline"] == f"LoPA needed {len(pair()[1].rounds)} forward passes."


def test_a_stopped_run_says_so_and_is_better_than_none():
    base, lopa = pair(3)
    card = scorecard([base, lopa], None)
    assert base.reason == "stopped" and card["headline"].startswith("Stopped before both decoders")
    assert all(each["better"] is None for each in card["rows"])
    assert "not compared" in card["agreement"][0]
    late = scorecard([*pair(), replace(trio()[2], rounds=(), reason="stopped")], None)
    assert late["headline"] == scorecard(pair(), None)["headline"] and "not both ended" in late["agreement"][1]
    assert row(late, "Forward passes")["better"] == 1


def test_answers_are_checked_against_the_known_problem():
    problem = next(iter(EXAMPLES.values()))
    card = scorecard(said(f"so\n#### {problem.answer}", "so\n#### 1000"), problem)
    right, wrong = row(card, "Answer")["values"]
    assert "right" in right and "wrong" in wrong and str(problem.answer) in wrong
    unfinished = [replace(trace, reason="stopped") for trace in said("so", "so")]
    assert row(scorecard(unfinished, problem), "Answer")["values"] == ["none  unfinished"] * 2


def test_no_answer_line_without_an_answer():
    assert all(each["label"] != "Answer" for each in scorecard(said("a", "b"), None)["rows"])


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ("same", "same ", ["Both wrote the same text."]),
        ("in 5 days there are 9 eggs", "in 5 days there are 90 eggs", ["there are", "“9 eggs”", "“90 eggs”"]),
        ("one", "two", ["From the start", "“one”", "“two”"]),
        ("one two", "", ["“one two”", "other (nothing)"]),
        ("a b c", "a b", ["After “a b”", "“c”", "(nothing)"]),
    ],
)
def test_agreement_quotes_where_texts_part(left, right, words):
    (sentence,) = agreement(lanes(said(left, right)))
    assert all(word in sentence for word in words), sentence


def test_tokens_are_compared_where_there_is_no_text():
    base, lopa = pair()
    assert agreement(lanes([base, replace(lopa, tokens=base.tokens)])) == ["Both wrote the same tokens."]
    assert agreement(lanes([base, replace(lopa, tokens=(1,) * len(base.tokens))])) == ["The tokens differ."]


def test_a_what_if_is_told_against_lopa():
    base, lopa, other = (replace(trace, text="so it is") for trace in trio())
    ((number, branch),) = other.forced
    name = "the anchor" if other.rounds[number].branches[branch].anchor else f"lookahead {branch + 1}"
    first, told = agreement(lanes([base, lopa, shorter(other, 3)]))
    assert first == "Confidence decoding and LoPA wrote the same text."
    assert told == (
        f"Had {name} won pass {number + 1}, LoPA would have needed 3 forward passes instead of {len(lopa.rounds)}; it writes the same text."
    )
    even = agreement(lanes([base, lopa, replace(other, rounds=lopa.rounds, text="so it was")]))[1]
    assert "forward passes all the same; it writes another text: after “so it” it goes on “was” instead of “is”." in even


def test_two_choices_and_choices_not_yet_reached():
    lopa, other = trio()[1:]
    anchor = len(lopa.rounds[0].branches) - 1
    told = agreement(lanes([lopa, replace(other, forced=((0, anchor), (99, 4)))]))[0]
    assert told.startswith("Had the anchor won pass 1 and lookahead 5 won pass 100, LoPA would have needed")


def test_further_lanes_are_told_against_lopa():
    base, lopa, other = (replace(trace, text="so") for trace in trio())
    paper = replace(other, decoder="lopa-paper", forced=())
    told = agreement(lanes([base, lopa, paper, replace(paper, decoder="mine", text="no")]))
    assert told[1] == f"LoPA, as published needed {len(paper.rounds)} forward passes, LoPA {len(lopa.rounds)}; it writes the same text."
    assert told[2].startswith("mine needed") and "from the start it goes on “no” instead of “so”" in told[2]


def test_a_what_if_of_another_decoder_is_told_against_that_decoder():
    lopa, other = trio()[1:]
    paper = replace(lopa, decoder="lopa-paper")
    told = agreement(lanes([lopa, paper, replace(other, decoder="lopa-paper")]))
    assert "LoPA, as published would have needed" in told[1]


def test_definitions_come_from_the_metrics_and_cover_every_label():
    assert {term for term, _ in definitions()} == set(LABELS.values())
    assert {each.name for each in fields(Metrics)} - {"network_seconds"} <= set(LABELS)


def test_the_remark_names_the_hardware_and_what_branch_parallelism_would_change():
    remark = scorecard(pair(), None)["remark"]
    assert pair()[1].hardware in remark and "share one device" in remark and "would run on a device of its own" in remark
    chosen = pair()[1].settings | {"attention": "block_causal"}
    for reach, told in (("window", True), ("masks", False)):
        own = replace(pair()[1], settings=chosen | {"reach": reach})
        assert ("reach masks" in scorecard([pair()[0], own], None)["remark"]) is told
    assert "reach masks" not in remark  # for block-causal attention only
    wide = scorecard([pair()[0], on_devices(pair()[1], 3)], None)["remark"]
    assert "on 3 devices side by side" in wide and "would" not in wide
    assert scorecard(pair()[:1], None)["remark"] == f"Measured on {pair()[0].hardware}."
    elsewhere = scorecard([replace(pair()[0], hardware="a laptop"), pair()[1]], None)["remark"]
    assert f"Measured on a laptop and {pair()[1].hardware}" in elsewhere

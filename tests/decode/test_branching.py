"""Branching rules besides LoPA's: drafts that change nothing but the number of passes, pivots, and fewer rows."""

from dataclasses import replace

import numpy as np
import pytest

from lopa_core.decode.branch import Branch, Tried, score, winner
from lopa_core.decode.rules.registry import BRANCHINGS
from lopa_core.decode.settings import DecodeSettings, SettingsError
from lopa_core.model.presets import DEFAULT, PRESETS
from lopa_core.runtime.local import LocalEngine
from lopa_core.runtime.session import open_model
from lopa_core.tasks.word_problems import problems

from ..helpers.decoding import FakeEngine, run, scattered
from ..helpers.models import conformance_network
from ..helpers.rules import one_block, said

CHOSEN = DecodeSettings(max_new_tokens=8, block_size=8, lookahead=3, confidence="neg_entropy")
DRAFT = DecodeSettings(max_new_tokens=24, block_size=8, lookahead=4).decoder("freedave")


def tokens(rounds):
    """What was written, in order of rounds; within one by slot."""
    told = []
    for each in rounds:
        branch = each.branches[each.winner]
        brought = [(one.slot, one.token) for one in (branch.tried, *branch.more) if one]
        told += [*brought, *zip(each.slots[each.filled].tolist(), each.seen.tokens[each.filled].tolist())]
    return told


# ---- FreeDave --------------------------------------------------------------------------------------------------------


def test_drafts_are_nested_confident_first_and_leave_a_mask():
    canvas, slots = one_block(4)
    drafts = BRANCHINGS["draft"].spawn(canvas, slots, said([0.5, 0.9, 0.7, 0.6]), replace(CHOSEN, lookahead=8))
    written = [[slot for slot in slots.tolist() if branch.canvas.tokens[slot]] for branch in drafts]
    assert written == [[3], [3, 4], [3, 4, 5], []]
    assert [len(branch.more) for branch in drafts] == [0, 1, 2, 0] and drafts[-1].tried is None


def test_a_chain_of_drafts_breaks_at_the_first_that_is_not_foretold():
    """The anchor would write slot 3, draft 1 slot 5 as draft 2 has it, draft 2 another token than draft 3 has."""
    canvas, slots = one_block(4)
    drafts = BRANCHINGS["draft"].spawn(canvas, slots, said([0.5, 0.9, 0.7, 0.6]), CHOSEN)
    left = [np.array([2, 4, 5]), np.array([2, 5]), np.array([2]), slots]
    seen = [said([0.1, 0.9, 0.2])._replace(tokens=np.array([10, 12, 13])), said([0.1, 0.9])._replace(tokens=np.array([10, 99]))]
    seen += [said([0.9]), said([0.5, 0.9, 0.7, 0.6])]
    pick = lambda canvas, slots, seen: np.array([int(seen.confidences.argmax())])  # noqa: E731
    assert BRANCHINGS["draft"].weigh(drafts, left, seen, CHOSEN, pick) == [1.0, 2.0, -1.0, 0.0]


@pytest.mark.parametrize("model", ["dream-a", "llada-a"])
@pytest.mark.parametrize("attention", ["full", "block_causal"])
@pytest.mark.parametrize("prompt", [[9], [165, 485, 77, 202, 333]])
def test_drafts_give_what_one_token_per_pass_gives(model, attention, prompt):
    drafted = replace(DRAFT, attention=attention)
    network = conformance_network(model)
    slow, wanted = run(prompt, LocalEngine(network), drafted.decoder("vanilla"))
    fast, outcome = run(prompt, LocalEngine(network), drafted)
    assert outcome == wanted and sorted(tokens(fast)) == sorted(tokens(slow)) and len(fast) <= len(slow)


@pytest.mark.parametrize(("seed", "reason"), [*((seed, "eos") for seed in range(7)), (7, "complete")])
def test_drafts_are_lossless_where_the_text_ends(seed, reason):
    """Every token that the drafts wrote, one token per pass would have written, in this order."""
    engine, plain = FakeEngine(scattered(seed, eos_every=8)), FakeEngine(scattered(seed, eos_every=8))
    slow, wanted = run([1, 2], plain, DRAFT.decoder("vanilla"))
    fast, outcome = run([1, 2], engine, DRAFT)
    assert outcome == wanted and tokens(fast) == tokens(slow)
    assert wanted.reason == reason


def test_drafts_are_lossless_on_the_embedded_model_and_save_passes():
    model, settings = open_model(), DecodeSettings(**PRESETS[DEFAULT].settings)
    passes = {"vanilla": 0, "freedave": 0}
    for problem in problems(4, split="test"):
        told = {}
        for name in passes:
            rounds, told[name] = run(model.encode(problem.question), LocalEngine(model.network), settings.decoder(name))
            passes[name] += len(rounds)
        assert told["freedave"] == told["vanilla"]
    assert passes["freedave"] < 0.6 * passes["vanilla"]


@pytest.mark.parametrize("changes", [{"temperature": 0.5}, {"selection": "klass"}, {"duplicate_anchor": True}], ids=str)
def test_drafts_that_could_not_be_verified_are_refused(changes):
    with pytest.raises(SettingsError):
        DecodeSettings(branching="draft", **changes)


# ---- Ripple-Pivot ----------------------------------------------------------------------------------------------------


def rivals(first, second, third, **more):
    count = len(first)
    told = {"second_tokens": np.arange(count) + 30, "third_tokens": np.arange(count) + 50}
    return said(first, second_probabilities=second, third_probabilities=third, **told, **more)


def test_the_pivot_is_the_mask_whose_likely_tokens_are_most_undecided():
    canvas, slots = one_block(3)
    seen = rivals([0.9, 0.4, 0.1], [0.05, 0.35, 0.1], [0.01, 0.02, 0.1])
    branches = BRANCHINGS["pivot"].spawn(canvas, slots, seen, CHOSEN)
    tried = [branch.tried and (branch.tried.slot, branch.tried.token) for branch in branches]
    assert tried == [(3, 11), (3, 31), None]  # the third token has less than a tenth of the best; slot 4 has too little mass


def test_nothing_undecided_is_no_pivot():
    canvas, slots = one_block(2)
    assert len(BRANCHINGS["pivot"].spawn(canvas, slots, rivals([0.99, 0.98], [0.01, 0.01], [0.0, 0.0]), CHOSEN)) == 1


def test_a_pivot_has_to_beat_leaving_it_masked():
    canvas, slots = one_block(3)
    branches = [Branch(canvas, Tried(3, 11, 0.4, -1.0)), Branch(canvas)]
    seen = [said([0.5, 0.5], entropies=[0.2, 0.4]), said([0.5] * 3, entropies=[0.3, 9.0, 0.5])]
    got = BRANCHINGS["pivot"].weigh(branches, [np.array([2, 4]), slots], seen, replace(CHOSEN, pivot_weight=0.5), None)
    assert got == pytest.approx([0.5 * 0.4 - 0.3, -0.4])


# ---- adaptive LoPA, scores -------------------------------------------------------------------------------------------


def adaptively(probabilities, **changes):
    canvas, slots = one_block(len(probabilities))
    branches = BRANCHINGS["adaptive"].spawn(canvas, slots, said(probabilities), replace(CHOSEN, **changes))
    return [branch.tried and branch.tried.slot - 2 for branch in branches]


def test_adaptive_lopa_runs_the_anchor_only_where_no_lookahead_is_sure():
    assert adaptively([0.7, 0.2, 0.65, 0.6, 0.5]) == [0, 2, 3]
    assert adaptively([0.7, 0.2, 0.65, 0.6, 0.5], adaptive_sure=0.8) == [0, 2, 3, None]
    assert adaptively([0.7, 0.2, 0.65, 0.6, 0.5], adaptive_gap=0.06) == [0, 2]
    assert adaptively([0.7, 0.5], confidence_floor=0.8) == [None]
    assert adaptively([0.7, 0.2, 0.65, 0.6, 0.5], reach="block") == [0, 2, 3, None]  # they borrow from it


def test_beside_leap_adaptive_lopa_tries_only_what_the_future_confirms():
    canvas, slots = one_block(3)
    seen = said([0.9, 0.8, 0.7], future_tokens=[10, 99, 12])
    for settings, wanted in ((CHOSEN, [2, 4]), (replace(CHOSEN, lookahead=1), [2])):
        assert [branch.tried.slot for branch in BRANCHINGS["adaptive"].spawn(canvas, slots, seen, settings)] == wanted
    nothing = seen._replace(future_tokens=np.array([-1, -1, -1]))
    assert [branch.tried for branch in BRANCHINGS["adaptive"].spawn(canvas, slots, nothing, CHOSEN)] == [None]


def test_adaptive_lopa_that_is_never_sure_is_lopa():
    network, lopa = conformance_network("dream-a"), replace(DRAFT, selection="threshold", branching="lookahead", tau_conf=0.5)
    (rounds, wanted), (ours, got) = (
        run([9, 4], LocalEngine(network), each) for each in (lopa, replace(lopa, branching="adaptive", adaptive_sure=1.0))
    )
    assert got == wanted and tokens(rounds) == tokens(ours)
    assert [len(each.branches) for each in rounds] == [len(each.branches) for each in ours]


def test_score_of_the_least_confident_stretch():
    confidences = np.array([-1.0, -5.0, -1.0, -2.0, -4.0], "f4")
    assert score(confidences, None, replace(CHOSEN, score_window=2)) == pytest.approx(-3.0)
    assert score(confidences, None, replace(CHOSEN, score_window=1)) == -5.0
    assert score(confidences, None, replace(CHOSEN, score_window=5)) == score(confidences, None, CHOSEN)
    assert score(np.zeros(0, "f4"), None, replace(CHOSEN, score_window=3)) == 1.0  # nothing left: not a NaN


# ---- the anchor's word -----------------------------------------------------------------------------------------------


def weighed(rule, branches, anchor_says, **changes):
    """Winner among branches with rising scores, the anchor lowest; anchor_says: its probabilities, its tokens 10, 11, .."""
    scores = [said([0.5], confidences=[-0.1 * (index + 1)]) for index in range(len(branches) - 1)]
    slots = [np.array([9])] * (len(branches) - 1) + [np.arange(2, 2 + len(anchor_says))]
    seen = [*scores, said(anchor_says, confidences=[-3.0] * len(anchor_says))]
    return BRANCHINGS[rule].weigh(branches, slots, seen, replace(CHOSEN, **changes), None)


def test_a_lookahead_that_the_anchor_no_longer_says_cannot_win():
    canvas, _ = one_block(3)
    branches = [Branch(canvas, Tried(2, 99, 0.7, -1.0)), Branch(canvas, Tried(3, 11, 0.7, -1.0)), Branch(canvas)]
    assert winner(weighed("lookahead", branches, [0.9, 0.6, 0.5])) == 0  # the paper's does not ask
    assert winner(weighed("lookahead", branches, [0.9, 0.6, 0.5], anchor_floor=0.5)) == 1  # the anchor says 10, not 99
    assert winner(weighed("lookahead", branches, [0.9, 0.6, 0.5], anchor_floor=0.7)) == 2  # and is not sure enough of 11


def test_a_refuted_branch_is_behind_the_anchor_whatever_it_scores():
    canvas, _ = one_block(2)
    scores = weighed("lookahead", [Branch(canvas, Tried(2, 99, 0.7, -1.0)), Branch(canvas)], [0.9, 0.6], anchor_floor=0.5)
    assert scores == pytest.approx([-4.0, -3.0])

"""Lookahead branches, their score and the winner, on cases small enough to work by hand."""

import math

import numpy as np
import pytest

from lopa_core.decode.branch import Tried, score, spawn, winner
from lopa_core.decode.canvas import Canvas
from lopa_core.decode.observation import Observation
from lopa_core.decode.settings import DecodeSettings

EOS = 9
SLOTS = np.array([2, 3, 5])
SEEN = Observation(np.array([21, 22, EOS]), np.array([0.3, 0.5, 0.4], "f4"), np.array([-2.0, -1.0, -1.0], "f4"))


def settings(**changes):
    return DecodeSettings(**{"max_new_tokens": 4, "block_size": 4, "lookahead": 2, "confidence_floor": 0.0} | changes)


def canvas():
    """Two prompt tokens and one opened block; slot 4 is decided."""
    made = Canvas.start(np.array([1, 1]), settings(), mask_id=0, ends=frozenset([EOS]))
    made.opened, made.tokens[4] = 1, 7
    return made


def tried_slots(slots=SLOTS, seen=SEEN, **changes):
    return [branch.tried and branch.tried.slot for branch in spawn(canvas(), slots, seen, settings(**changes))]


def test_branches_are_the_most_confident_masks_then_the_anchor():
    """Slots 3 and 5 tie at -1: the lower first."""
    assert tried_slots() == [3, 5, None]
    assert tried_slots(lookahead=1) == [3, None]
    assert tried_slots(lookahead=0) == [None]
    assert tried_slots(lookahead=8) == [3, 5, 2, None]


def test_ties_go_to_the_lower_slot_in_long_windows_too():
    """Short arrays are sorted by insertion, which keeps ties in order whatever was asked for."""
    wide = settings(max_new_tokens=64, block_size=64, lookahead=64)
    start = Canvas.start(np.array([1, 1]), wide, mask_id=0)
    slots, confidences = np.arange(2, 66), -(np.arange(64) % 3).astype("f4")
    branches = spawn(start, slots, Observation(slots, confidences + 3, confidences), wide)
    assert [branch.tried.slot for branch in branches[:-1]] == sorted(slots.tolist(), key=lambda slot: ((slot - 2) % 3, slot))


def test_a_branch_is_the_anchor_and_one_token():
    first, second, anchor = spawn(canvas(), SLOTS, SEEN, settings())
    assert anchor.canvas.tokens.tolist() == [1, 1, 0, 0, 7, 0]
    assert first.canvas.tokens.tolist() == [1, 1, 0, 22, 7, 0]
    assert second.canvas.tokens.tolist() == [1, 1, 0, 0, 7, EOS]
    assert (first.tried.token, first.tried.probability, first.tried.confidence) == (22, 0.5, -1.0)
    assert [first.canvas.ended, second.canvas.ended, anchor.canvas.ended] == [False, True, False]


def test_branches_share_nothing_that_a_round_changes():
    first, _, anchor = spawn(canvas(), SLOTS, SEEN, settings())
    first.canvas.fully_active[0] = True
    first.canvas.tokens[2] = 5
    assert not anchor.canvas.fully_active[0] and anchor.canvas.tokens[2] == 0


@pytest.mark.parametrize(("floor", "slots"), [(0.0, [3, 5, 2]), (0.3, [3, 5, 2]), (0.35, [3, 5]), (0.5, [3]), (0.51, [])])
def test_floor_drops_tokens_of_a_smaller_probability(floor, slots):
    """It is reached by equality, all but 0.3 being exact; 0.3 is the same fp32 number on both sides."""
    assert tried_slots(lookahead=8, confidence_floor=floor) == [*slots, None]


def test_floor_makes_room_for_less_confident_positions():
    """It filters before the k best are taken, not after."""
    seen = Observation(SEEN.tokens, np.array([0.9, 0.1, 0.8], "f4"), SEEN.confidences)
    assert tried_slots(seen=seen, confidence_floor=0.5) == [5, 2, None]


def test_nothing_left_to_try_leaves_the_anchor():
    """Twice, if the official code's choice is asked for and there is a lookahead at all."""
    nothing = np.array([], dtype=np.int64)
    left = nothing, SEEN.part(nothing)
    assert tried_slots(*left) == [None]
    assert tried_slots(*left, duplicate_anchor=True) == [None, None]
    assert tried_slots(*left, duplicate_anchor=True, lookahead=0) == [None]


CONFIDENCES = np.array([-1.0, -4.0, -2.0, -3.0], "f4")
LOOKAHEAD = Tried(slot=3, token=22, probability=0.5, confidence=-0.5)


def test_score_is_the_mean_confidence_of_the_masks_left():
    assert score(CONFIDENCES, None, settings()) == score(CONFIDENCES, LOOKAHEAD, settings()) == -2.5


@pytest.mark.parametrize("fraction", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("tried", [None, LOOKAHEAD])
def test_score_is_one_where_no_mask_is_left(tried, fraction):
    assert score(CONFIDENCES[:0], tried, settings(score_tail_fraction=fraction)) == 1.0


@pytest.mark.parametrize(("fraction", "expected"), [(0.0, -4), (0.25, -4), (0.49, -4), (0.5, -3.5), (0.75, -3), (0.99, -3), (1.0, -2.5)])
def test_tail_fraction_counts_the_least_confident_share_rounded_down_but_at_least_one(fraction, expected):
    assert score(CONFIDENCES, None, settings(score_tail_fraction=fraction)) == expected


def test_score_does_not_reorder_the_confidences():
    kept = CONFIDENCES.copy()
    score(kept, None, settings(score_tail_fraction=0.5))
    assert np.array_equal(kept, CONFIDENCES)


@pytest.mark.parametrize(("weight", "anchor", "lookahead"), [(0.0, -2.5, -2.5), (0.5, -0.75, -1.5), (1.0, 1.0, -0.5)])
def test_creation_weight_mixes_in_the_tried_tokens_confidence_and_one_for_the_anchor(weight, anchor, lookahead):
    mixed = settings(score_creation_weight=weight)
    assert (score(CONFIDENCES, None, mixed), score(CONFIDENCES, LOOKAHEAD, mixed)) == (anchor, lookahead)


def test_score_sums_in_fp64():
    """In fp32 the ones would drown beside 2**24."""
    assert score(np.array([2.0**24, 1, 1, 1], "f4"), None, settings()) == (2.0**24 + 3) / 4


@pytest.mark.parametrize(
    ("scores", "index"), [([0.1, 0.3, 0.2], 1), ([0.3, 0.3, 0.3], 0), ([0.1, 0.3, 0.3], 1), ([-2.0], 0), ([-math.inf, -5.0], 1)]
)
def test_highest_score_wins_and_ties_go_to_the_earlier(scores, index):
    assert winner(scores) == index

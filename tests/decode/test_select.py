"""Which masks are filled, on cases small enough to work by hand."""

import numpy as np
import pytest

from lopa_core.decode.canvas import Canvas
from lopa_core.decode.observation import Observation
from lopa_core.decode.rules.plain import one, threshold
from lopa_core.decode.settings import DecodeSettings


def canvas(fully_active=(True, False, False)):
    """Two prompt tokens, then three opened blocks of two masks: slots 2 3 | 4 5 | 6 7."""
    made = Canvas.start(np.array([1, 1]), DecodeSettings(max_new_tokens=6, block_size=2), mask_id=0)
    made.opened, made.fully_active = 3, np.array(fully_active)
    return made


def seen(probabilities, confidences=None):
    tokens = np.arange(len(probabilities), dtype=np.int64) + 10
    return Observation(tokens, np.array(probabilities, "f4"), np.array(confidences or probabilities, "f4"))


SLOTS = np.arange(2, 8)


def pick(rule, said, tau_conf=0.9, slots=SLOTS, fully_active=(True, False, False)):
    return rule(canvas(fully_active), slots, said, DecodeSettings(tau_conf=tau_conf)).tolist()


def test_threshold_takes_all_above_it_in_every_block():
    assert pick(threshold, seen([0.95, 0.1, 0.91, 0.99, 0.2, 0.97])) == [0, 2, 3, 5]


@pytest.mark.parametrize("tau", [0.5, 0.75, 1.0])
def test_threshold_is_strict(tau):
    """Exactly tau is not enough (Eq. 1); all four values are exact in fp32."""
    at, above = tau, np.nextafter(np.float32(tau), np.float32(2))
    assert pick(threshold, seen([0.01, at, at, above, 0, 0], [9, 0, 0, 0, 0, 0]), tau) == [0, 3]


def test_threshold_of_zero_takes_everything():
    assert pick(threshold, seen([0.1] * 6), 0.0) == [0, 1, 2, 3, 4, 5]


def test_threshold_looks_at_probability_and_fallback_at_confidence():
    said = seen([0.5, 0.6, 0.1, 0.1, 0.95, 0.1], confidences=[-1, -2, 0, 0, -9, 0])
    assert pick(threshold, said) == [0, 4]


@pytest.mark.parametrize(
    ("fully_active", "expected"),
    [((True, False, False), [1]), ((True, True, False), [1, 2]), ((True, True, True), [1, 2, 5]), ((False, False, False), [])],
)
def test_fallback_is_one_slot_per_fully_active_block_only(fully_active, expected):
    assert pick(threshold, seen([0.1, 0.2, 0.4, 0.3, 0.5, 0.6]), fully_active=fully_active) == expected


def test_no_fallback_where_the_block_has_one_above_the_threshold():
    assert pick(threshold, seen([0.95, 0.2, 0.4, 0.3, 0.5, 0.6]), fully_active=(True, True, False)) == [0, 2]


def test_fallback_ties_go_to_the_earlier_slot():
    assert pick(threshold, seen([0.3, 0.3, 0.7, 0.7, 0, 0]), fully_active=(True, True, False)) == [0, 2]


def test_blocks_are_told_by_slot_not_by_position_in_the_record():
    """Slots 3 and 6, 7 are left: the first block's only mask, then the third block."""
    said = seen([0.1, 0.2, 0.3])
    assert pick(threshold, said, slots=np.array([3, 6, 7]), fully_active=(True, True, True)) == [0, 2]


def test_one_takes_the_most_confident_of_the_first_block_with_masks():
    assert pick(one, seen([0.1, 0.2, 0.99, 0.99, 0.99, 0.99])) == [1]
    assert pick(one, seen([0.99, 0.1], confidences=[-2, -1]), slots=np.array([4, 5])) == [1]
    assert pick(one, seen([0.5, 0.5, 0.9, 0.9, 0.9, 0.9])) == [0]

"""AUP against figures worked by hand, and what must hold of it for any curve."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lopa_core.bench.aup import DROP, aup, weight

LOPA_ON_DREAM = [(3.1, 78.5), (10.1, 73.8)]  # GSM8K, arXiv 2512.16229
POINTS = st.lists(st.tuples(st.floats(0.1, 50), st.floats(0, 100)), min_size=1, max_size=8)


@pytest.mark.parametrize(("best", "score"), [(83.94, 649), (78.5, 734)])
def test_two_points_as_worked_by_hand(best, score):
    assert round(aup(LOPA_ON_DREAM, best)) == round(aup(LOPA_ON_DREAM[::-1], best)) == score


def test_one_point_is_its_area_and_none_is_nothing():
    assert aup([(2.0, 70.0)], 90.0) == 140.0 and aup([], 90.0) == 0.0 and aup([(2.0, 0.0)], 0.0) == 0.0


def test_without_loss_it_is_the_plain_area():
    assert aup([(1.0, 80.0), (3.0, 80.0), (6.0, 80.0)], 80.0) == pytest.approx(6.0 * 80.0)


def test_more_than_five_points_below_the_first_do_not_count():
    assert aup([(1.0, 80.0), (5.0, 80.0 - DROP - 0.1)], 80.0) == 80.0 < aup([(1.0, 80.0), (5.0, 80.0 - DROP)], 80.0)


def test_the_weight_falls_with_the_accuracy_lost():
    assert weight(80.0, 80.0) == weight(90.0, 80.0) == 1.0
    assert weight(72.0, 80.0) == pytest.approx(math.exp(-0.3)) and weight(60.0, 80.0) < weight(72.0, 80.0)


@given(POINTS, st.floats(1, 100))
def test_it_is_never_more_than_all_right_at_the_highest_speed(points, best):
    assert 0 <= aup(points, best) <= 100 * max(tpf for tpf, _ in points) * (1 + 1e-9)

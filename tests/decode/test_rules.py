"""Selection rules on cases worked by hand: the formulas of their papers in plain Python, and the traps met in public code."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from lopa_core.decode.rules.registry import SELECTIONS, cards
from lopa_core.decode.settings import DecodeSettings

from ..helpers.rules import picked, said

many = hypothesis_settings(max_examples=100, deadline=None, derandomize=True)
probabilities = st.lists(st.integers(1, 63).map(lambda each: each / 64), min_size=1, max_size=9)


def test_every_rule_has_a_card_that_says_something():
    told = cards()
    assert len({(card.kind, card.name) for card in told}) == len(told)
    for card in told:
        assert card.title and card.source and card.formula and card.rows and card.tokens


# ---- Fast-dLLM factor ------------------------------------------------------------------------------------------------


def test_factor_by_hand():
    """Sorted 0.99 0.95 0.80 0.79: 2 x 0.01, 3 x 0.05, 4 x 0.20, 5 x 0.21; below 1 are the first three."""
    assert picked("factor", said([0.80, 0.99, 0.79, 0.95]), factor=1.0) == [0, 1, 3]
    assert picked("factor", said([0.80, 0.99, 0.79, 0.95]), factor=0.5) == [1, 3]


def test_factor_admits_all_when_the_last_passes():
    """A scan that ends at the last mask must not lose it, nor count one too many."""
    assert picked("factor", said([0.99, 0.99, 0.99])) == [0, 1, 2]
    assert picked("factor", said([0.99])) == [0]


def test_factor_stops_at_the_first_failure():
    """0.6: 2 x 0.4 = 0.8 passes; 0.6 again: 3 x 0.4 fails, whatever comes behind it."""
    assert picked("factor", said([0.6, 0.6, 0.6]), factor=1.0) == [0]


def test_factor_always_admits_the_first_but_only_in_a_fully_active_block():
    assert picked("factor", said([0.1, 0.2])) == [1]
    assert picked("factor", said([0.1, 0.2]), active=False) == []


@given(probabilities=probabilities, bound=st.sampled_from([0.1, 0.5, 1.0, 2.0]))
@many
def test_factor_equals_its_formula(probabilities, bound):
    ordered = sorted(range(len(probabilities)), key=lambda index: (-probabilities[index], index))
    count = 0
    while count < len(ordered) and (count + 2) * (1 - probabilities[ordered[count]]) < bound:
        count += 1
    assert picked("factor", said(probabilities), factor=bound) == sorted(ordered[: max(count, 1)])


# ---- EB-Sampler ------------------------------------------------------------------------------------------------------


def test_entropy_bound_by_hand():
    """By confidence: H 0.01 0.30 0.02 0.40; sums less the largest: 0, 0.01, 0.03, 0.33."""
    seen = said([0.9, 0.8, 0.7, 0.6], entropies=[0.01, 0.30, 0.02, 0.40])
    assert picked("entropy_bound", seen, entropy_bound=0.005) == [0]
    assert picked("entropy_bound", seen, entropy_bound=0.02) == [0, 1]
    assert picked("entropy_bound", seen, entropy_bound=0.1) == [0, 1, 2]
    assert picked("entropy_bound", seen, entropy_bound=0.34) == [0, 1, 2, 3]


def test_entropy_bound_frees_the_largest_of_the_run_so_far():
    """A maximum over anything but the run (over a batch, say) would free another one, or none."""
    seen = said([0.9, 0.8, 0.7], entropies=[0.5, 0.1, 0.1])
    assert picked("entropy_bound", seen, entropy_bound=0.15) == [0, 1]
    assert picked("entropy_bound", seen, active=False, entropy_bound=0.15) == []


@given(probabilities=probabilities, bound=st.sampled_from([0.0, 0.1, 1.0, 3.0]))
@many
def test_entropy_bound_equals_its_formula(probabilities, bound):
    entropies = [-math.log(each) for each in probabilities]
    ordered = sorted(range(len(probabilities)), key=lambda index: (-probabilities[index], index))
    count = 1
    while count < len(ordered):
        run = [entropies[index] for index in ordered[: count + 1]]
        if sum(run) - max(run) > bound + 1e-12:
            break
        count += 1
    assert picked("entropy_bound", said(probabilities, entropies=entropies), entropy_bound=bound + 1e-12) == sorted(ordered[:count])


# ---- LocalLeap -------------------------------------------------------------------------------------------------------


def test_local_leap_by_hand():
    seen = said([0.8, 0.7, 0.8, 0.95, 0.76, 0.2, 0.8, 0.8])
    assert picked("local_leap", seen, local_radius=1) == [2, 3, 4]
    assert picked("local_leap", seen, local_radius=3) == [0, 2, 3, 4, 6]
    assert picked("local_leap", seen, local_radius=1, local_tau=0.8) == [3]  # strictly above: 0.8 is not


def test_local_leap_without_an_anchor_is_the_plain_rule():
    seen = said([0.8, 0.85, 0.7])
    assert picked("local_leap", seen) == picked("threshold", seen) == [1]


# ---- what holds for all ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SELECTIONS)
def test_a_rule_always_moves_and_never_picks_twice(name):
    rng = np.random.default_rng(3)
    for size in (1, 2, 7):
        for low in (0.0, 0.8):
            shares = (low + (1 - low) * rng.random(size)).astype("f4").tolist()
            columns = {each: rng.random(size).astype("f4") for each in SELECTIONS[name].columns}
            chosen = picked(name, said(shares, **columns))
            assert 1 <= len(chosen) == len(set(chosen)) and set(chosen) <= set(range(size))


def test_every_rule_is_a_decoder_of_its_name():
    for name in SELECTIONS:
        if name not in ("threshold", "one"):
            assert DecodeSettings().decoder(name.replace("_", "-")).selection == name

"""Selection rules on cases worked by hand: the formulas of their papers in plain Python, and the traps met in public code."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from lopa_core.decode.observation import Observation
from lopa_core.decode.rules.credit import Ledger, fuse
from lopa_core.decode.rules.klass import Steady
from lopa_core.decode.rules.registry import SELECTIONS, TERMINATORS, cards
from lopa_core.decode.settings import DecodeSettings
from lopa_core.runtime.remembered import UNSEEN, Distributions

from ..helpers.rules import one_block, picked, said

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


# ---- KLASS -----------------------------------------------------------------------------------------------------------


def test_klass_by_hand():
    seen = said([0.9, 0.65, 0.5, 0.7], steady=[2, 3, 9, 1])
    assert picked("klass", seen) == [0, 1]
    assert picked("klass", seen, klass_steps=1) == [0, 1, 3]
    assert picked("klass", seen, klass_tau=0.8, klass_steps=3) == [0]  # none is ready: the most confident one


def test_steady_counts_rounds_in_a_row_per_slot():
    """A slot that moves, or is not looked at for a round, begins anew."""
    steady = Steady(6, DecodeSettings(klass_kl=0.1))
    first = steady.tell(np.array([2, 3, 5]), said([0.5] * 3, divergences=[1e6, 1e6, 1e6]))
    assert first.steady.tolist() == [0, 0, 0]
    assert steady.tell(np.array([2, 3]), said([0.5] * 2, divergences=[0.05, 0.2])).steady.tolist() == [1, 0]
    assert steady.tell(np.array([2, 3, 5]), said([0.5] * 3, divergences=[0.05, 0.05, 0.05])).steady.tolist() == [2, 1, 1]


def test_divergence_is_that_from_the_winner_s_distribution():
    kept, before = Distributions(), torch.tensor([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    assert kept.divergence(before, torch.tensor([4, 4, 5])).tolist() == [UNSEEN] * 3
    kept.keep(torch.tensor([1, 2]))  # rows 0, 1, 1: the second row won
    now = torch.tensor([[0.5, 0.5], [0.2, 0.8], [0.3, 0.7]])
    moved = kept.divergence(now, torch.tensor([4, 5, 6])).tolist()
    assert moved == pytest.approx([0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(0.5 / 0.1), 0.0, UNSEEN], abs=1e-6)


# ---- CreditDecoding --------------------------------------------------------------------------------------------------


def test_credit_by_hand():
    """Two rounds of predictions, then the logits that the third one's own forward is added to."""
    chosen = DecodeSettings(credit_alpha=0.7, credit_beta=0.8, credit_gamma=0.2)
    ledger = Ledger(chosen)
    ledger.tell(np.array([7]), said([0.0], raw_tokens=[3], raw_probabilities=[0.5]))
    ledger.tell(np.array([7]), said([0.0], raw_tokens=[1], raw_probabilities=[0.25]))
    tokens, credit = ledger.of(np.array([7, 8]))
    assert tokens[0].tolist() == [3, 1] and credit[1].tolist() == [0, 0]
    assert credit[0].tolist() == pytest.approx([0.8 * 0.8 * 0.5**0.2, 0.8 * 0.25**0.2])
    logits = torch.tensor([[0.0, 1.0, -1.0, 0.5], [2.0, 0.0, 0.0, 0.0]])
    shares = logits.softmax(-1).tolist()
    wanted = [each.copy() for each in logits.tolist()]
    wanted[0][3] += 0.7 * math.log(1 + 0.64 * 0.5**0.2)
    wanted[0][1] += 0.7 * math.log(1 + 0.8 * 0.25**0.2 + shares[0][1] ** 0.2)
    wanted[1][0] += 0.7 * math.log(1 + shares[1][0] ** 0.2)
    raw, told = fuse(logits, torch.from_numpy(tokens), torch.from_numpy(credit), 0.7, 0.2)
    assert raw.tolist() == [1, 0] and told.tolist() == pytest.approx([shares[0][1], shares[1][0]])
    assert logits.numpy() == pytest.approx(np.array(wanted), abs=1e-6)


# ---- Prophet ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("filled", "gap", "stops"), [(0, 7.4, False), (0, 7.6, True), (3, 5.1, True), (3, 4.9, False), (6, 2.6, True)])
def test_prophet_asks_for_less_as_the_text_fills(filled, gap, stops):
    canvas, slots = one_block(8)
    canvas.tokens[slots[:filled]] = 9
    seen = said([0.5] * (8 - filled), gaps=[gap - 1, *[gap] * (6 - filled), gap + 1])
    assert TERMINATORS["prophet"].settled(canvas, slots[filled:], seen, DecodeSettings()) == stops


# ---- what holds for all ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SELECTIONS)
def test_a_rule_always_moves_and_never_picks_twice(name):
    rng = np.random.default_rng(3)
    for size in (1, 2, 7):
        for low in (0.0, 0.8):
            shares = (low + (1 - low) * rng.random(size)).astype("f4").tolist()
            columns = {each: rng.random(size).astype("f4") for each in Observation._fields[3:]}
            chosen = picked(name, said(shares, **columns))
            assert 1 <= len(chosen) == len(set(chosen)) and set(chosen) <= set(range(size))


def test_every_rule_is_a_decoder_of_its_name():
    for name in SELECTIONS:
        if name not in ("threshold", "one"):
            assert DecodeSettings().decoder(name.replace("_", "-")).selection == name

"""All branches of a round in one batch against one after the other: the same rounds, also where branches end unevenly."""

from dataclasses import replace

import pytest

from lopa_core.decode.settings import DecodeSettings
from lopa_core.runtime.local import LocalEngine

from ..helpers.decoding import SerialEngine, run
from ..helpers.models import conformance_network

SETTINGS = DecodeSettings(max_new_tokens=32, block_size=8, lookahead=4, tau_conf=0.7, tau_add=0.25, tau_act=0.75, confidence="probability")
VARIANTS = {
    "full": {},
    "block causal": {"attention": "block_causal"},
    "remembered boundary": {"refresh_boundary": False},
    "sampled": {"temperature": 0.8, "seed": 4},
    "LEAP": {"selection": "leap", "leap_eta": 0.05, "leap_tau": 0.3},
    "LEAP, block causal": {"selection": "leap", "leap_eta": 0.05, "leap_tau": 0.3, "attention": "block_causal"},
    "credit": {"credit_alpha": 0.7},
    "LEAP with credit": {"selection": "leap", "leap_eta": 0.05, "leap_tau": 0.3, "credit_alpha": 0.7},
    "suffix of masks": {"suffix": "masks"},
    "cached suffix": {"suffix": "cached"},
    "one by one": {"selection": "one"},
    "official choices": {"stop_at_eos": False, "allow_mask_token": True, "refresh_boundary": False, "duplicate_anchor": True},
}


class CountingEngine(LocalEngine):
    """Counts the windows in which some row is shorter than another."""

    uneven = 0

    def forward(self, window):
        self.uneven += not window.even
        return super().forward(window)


def same(model, prompt, settings):
    """Compare both ways of running; returns the rounds and how many had rows of different lengths."""
    network = conformance_network(model)
    engine = CountingEngine(network)
    rounds, outcome = run(prompt, engine, settings)
    slow_rounds, slow_outcome = run(prompt, SerialEngine(network), settings)
    assert outcome == slow_outcome
    for fast, slow in zip(rounds, slow_rounds, strict=True):
        assert fast.winner == slow.winner
        assert fast.filled.tolist() == slow.filled.tolist()
        assert fast.seen.tokens.tolist() == slow.seen.tokens.tolist()
        assert [branch.score for branch in fast.branches] == pytest.approx([branch.score for branch in slow.branches], abs=1e-6)
    return rounds, engine.uneven


@pytest.mark.parametrize("model", ["dream-a", "dream-b", "llada-a"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_batch_equals_one_branch_after_the_other(model, variant):
    rounds, _ = same(model, [165, 485, 77, 202], replace(SETTINGS, **VARIANTS[variant]))
    assert max(len(round_.branches) for round_ in rounds) > 2


@pytest.mark.parametrize("attention", ["full", "block_causal"])
def test_batch_whose_rows_end_unevenly(attention):
    """A branch in which the text ended opens no more blocks; the others' windows are longer."""
    settings = replace(SETTINGS, attention=attention, stop_at_eos=False)
    tokens = set(run([9, 4], LocalEngine(conformance_network("dream-a")), settings)[1].tokens)
    assert sum(same("dream-a", [9, 4], replace(settings, eos_token_id=token))[1] for token in tokens) > 0

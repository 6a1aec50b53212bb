"""A rule set to its extreme is vanilla or threshold decoding, token for token and round for round."""

from dataclasses import replace

import pytest

from lopa_core.decode.settings import DecodeSettings
from lopa_core.runtime.local import LocalEngine

from ..helpers.decoding import run
from ..helpers.models import conformance_network

PLAIN = DecodeSettings(max_new_tokens=24, block_size=8, tau_conf=0.5, lookahead=0, stop_at_eos=False)
PIPELINED = replace(PLAIN, tau_add=0.1, attention="block_causal")
PROMPT = [165, 485, 77, 202, 333, 24, 37]

VANILLA = {
    "factor 0": {"selection": "factor", "factor": 0.0},
    "entropy bound 0": {"selection": "entropy_bound", "entropy_bound": 0.0},
    "KLASS that nothing is steady enough for": {"selection": "klass", "klass_kl": 0.0, "klass_tau": 0.0},
    "KLASS with a history longer than the text": {"selection": "klass", "klass_kl": 1000.0, "klass_tau": 0.0, "klass_steps": 100},
}
THRESHOLD = {
    "LocalLeap without a lower threshold": {"selection": "local_leap", "local_tau": 0.5},
    "LocalLeap of radius 0": {"selection": "local_leap", "local_radius": 0},
    "KLASS without history": {"selection": "klass", "klass_tau": 0.5, "klass_steps": 0},
    "LEAP without candidates": {"selection": "leap", "leap_eta": 1.0},
    "LEAP that takes only what is sure": {"selection": "leap", "leap_eta": 0.05, "leap_tau": 1.0},
    "credit that weighs nothing": {"credit_alpha": 1e-30},
    "Prophet that is never sure": {"terminator": "prophet", "prophet_early": 1000.0, "prophet_middle": 1000.0, "prophet_late": 1000.0},
    "LoPA without lookahead": {"lookahead": 0},
}
AT_ONCE = {
    "factor without bound": {"selection": "factor", "factor": 1000.0},
    "Prophet that is always sure": {"terminator": "prophet", "prophet_early": 0.0, "prophet_middle": 0.0, "prophet_late": 0.0},
    "entropy without bound": {"selection": "entropy_bound", "entropy_bound": 1000.0},
}


def decoded(model, settings):
    """Tokens, and what was written in every round."""
    rounds, outcome = run(PROMPT, LocalEngine(conformance_network(model)), settings)
    return outcome, [(each.slots[each.filled].tolist(), each.seen.tokens[each.filled].tolist()) for each in rounds]


@pytest.mark.parametrize("model", ["dream-a", "llada-a"])
@pytest.mark.parametrize("changes", VANILLA.values(), ids=VANILLA.keys())
def test_as_careful_as_can_be_is_one_token_per_pass(model, changes):
    assert decoded(model, replace(PLAIN, **changes)) == decoded(model, PLAIN.decoder("vanilla"))


@pytest.mark.parametrize("model", ["dream-a", "llada-a"])
@pytest.mark.parametrize("settings", [PLAIN, PIPELINED], ids=["blocks in turn", "pipelined"])
@pytest.mark.parametrize("changes", THRESHOLD.values(), ids=THRESHOLD.keys())
def test_without_its_own_part_a_rule_is_threshold_decoding(model, settings, changes):
    assert decoded(model, replace(settings, **changes)) == decoded(model, settings)


@pytest.mark.parametrize("changes", AT_ONCE.values(), ids=AT_ONCE.keys())
def test_as_bold_as_can_be_fills_a_block_per_pass(changes):
    assert decoded("dream-a", replace(PLAIN, **changes)) == decoded("dream-a", replace(PLAIN, tau_conf=0.0))

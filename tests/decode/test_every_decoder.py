"""Every decoder of the shelf against the slow obvious loop, round for round, over random models, lengths, settings and seeds."""

from dataclasses import replace

import pytest
from hypothesis import given, reject
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from lopa_core.decode.decoders import DECODERS
from lopa_core.decode.settings import CONFIDENCES, DecodeSettings, SettingsError

from ..helpers.models import dream_config, llada_config, random_network
from .reference import compare

SHAPES = {"shifted": dream_config(num_hidden_layers=2), "unshifted": llada_config(n_layers=2)}
low = st.sampled_from([0.0, 0.15, 0.3, 0.5, 0.9])  # a random network is rarely sure

# rules that join another one, and have no name as a pair
PAIRS = {
    "LoPA with reach block": ("lopa", {"reach": "block"}),
    "LoPA with reach masks": ("lopa", {"reach": "masks", "attention": "block_causal"}),
    "LoPA with an entropy bound": ("lopa", {"selection": "entropy_bound"}),
    "LoPA with credit": ("lopa", {"credit_alpha": 0.7}),
    "LoPA, the least confident stretch": ("lopa", {"score_window": 3}),
    "LoPA, the least confident share": ("lopa", {"score_tail_fraction": 0.4, "score_creation_weight": 0.3}),
    "adaptive LoPA with reach masks": ("adaptive-lopa", {"reach": "masks", "attention": "block_causal"}),
    "adaptive LoPA with reach window": ("adaptive-lopa", {"reach": "window"}),
    "adaptive LoPA with LEAP": ("adaptive-lopa", {"reach": "window", "selection": "leap"}),
    "klass with LoPA": ("lopa", {"selection": "klass"}),
    "WINO with LEAP's selection": ("wino", {"selection": "leap"}),
    "WINO with credit": ("wino", {"credit_alpha": 0.7}),
    "Saber with klass": ("saber", {"selection": "klass"}),
    "Saber with credit": ("saber", {"credit_alpha": 0.7}),
    "drafts that end early": ("freedave", {"terminator": "prophet"}),
    "Fast-dLLM's prefix cache": ("lopa", {"suffix": "masks", "attention": "full"}),
    "Fast-dLLM's dual cache": ("lopa", {"suffix": "cached", "attention": "full"}),
    "Saber with the dual cache": ("saber", {"suffix": "cached", "attention": "full"}),
    "drafts with the prefix cache": ("freedave++", {"suffix": "masks", "attention": "full"}),
}
CASES = {name: (name, {}) for name in DECODERS} | PAIRS


@st.composite
def chosen(draw, decoder, changes):
    """The decoder with small lengths and thresholds that a random network reaches."""
    size = draw(st.integers(1, 8))
    thresholds = ("tau_conf", "local_tau", "klass_tau", "leap_eta", "leap_tau", "wino_tau", "wino_keep", "adaptive_sure", "pivot_mass")
    choices = {
        "attention": ["block_causal", "full"], "tau_add": [0.0, 0.1, 0.5, 1.0], "tau_act": [0.5, 0.95], "confidence": CONFIDENCES,
        "stop_at_eos": [True, False], "refresh_boundary": [True, False], "confidence_floor": [0.0, 0.2], "anchor_floor": [0.0, 0.2],
        "lookahead": [1, 2, 4], "factor": [0.5, 1.0, 2.0], "entropy_bound": [0.1, 1.0, 4.0], "klass_kl": [0.01, 0.3],
        "klass_steps": [0, 1, 2], "leap_links": ["star", "clique"], "saber_least": [1, 2, 5], "prophet_early": [0.5, 2.0],
        "wino_refuted": [0.0, 0.1, 0.4],
    }  # fmt: skip
    drawn = {name: draw(st.sampled_from(values)) for name, values in choices.items()} | {name: draw(low) for name in thresholds}
    length = size * draw(st.integers(1, 4))
    base = DecodeSettings(block_size=size, max_new_tokens=length, prophet_middle=0.3, prophet_late=0.1, **drawn)
    try:
        return replace(base.decoder(decoder), **changes)
    except SettingsError:
        reject()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("case", CASES)
def test_a_decoder_writes_what_the_slow_loop_writes(case, shape):
    @given(settings=chosen(*CASES[case]), seed=st.integers(0, 10**6), prompt=st.lists(st.integers(0, 58), min_size=1, max_size=6))
    @hypothesis_settings(max_examples=6, deadline=None, derandomize=True)
    def check(settings, seed, prompt):
        compare(random_network(SHAPES[shape], seed), prompt, settings)

    check()

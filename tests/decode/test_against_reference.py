"""The fast loop against the slow obvious one, token for token and round for round."""

from dataclasses import replace

import pytest

from lopa_core.decode.settings import DecodeSettings

from ..helpers.models import conformance_network
from .reference import compare, decode_slowly

PROMPTS = ([165, 485, 77, 202, 333, 24, 37], [9], [440, 12, 12, 301, 77, 5, 128, 256, 33, 18, 400, 7])

# what differs from SMALL; every setting that changes a decision is here at more than one value
SMALL = dict(max_new_tokens=48, block_size=8, attention="block_causal", tau_conf=0.7, lookahead=0)
CASES = [
    {},
    {"block_size": 16},
    {"block_size": 48},
    {"block_size": 1, "max_new_tokens": 12, "lookahead": 2},
    {"lookahead": 1},
    {"lookahead": 2, "confidence": "probability"},
    {"lookahead": 4, "confidence": "margin", "block_size": 16},
    {"lookahead": 8, "confidence": "neg_entropy"},
    {"lookahead": 4, "tau_conf": 0.3, "confidence": "probability"},
    {"lookahead": 4, "tau_conf": 1.0, "max_new_tokens": 24},
    {"lookahead": 2, "tau_conf": 0.0},
    {"lookahead": 4, "tau_add": 0.5, "tau_act": 0.5, "confidence": "margin"},
    {"lookahead": 2, "tau_add": 0.0, "tau_act": 1.0},
    {"lookahead": 4, "tau_add": 1.0, "tau_act": 1.0, "block_size": 16},
    {"lookahead": 4, "confidence_floor": 0.2, "confidence": "probability"},
    {"lookahead": 8, "confidence_floor": 0.45, "block_size": 16},
    {"lookahead": 4, "score_tail_fraction": 0.3, "block_size": 16},
    {"lookahead": 4, "score_tail_fraction": 0.0, "confidence": "margin"},
    {"lookahead": 4, "score_creation_weight": 0.5, "confidence": "probability"},
    {"lookahead": 2, "score_creation_weight": 1.0, "score_tail_fraction": 0.5},
    {"selection": "one", "tau_add": 1.0, "tau_act": 1.0, "max_new_tokens": 24},
    {"selection": "one", "lookahead": 2},
    {"lookahead": 2, "max_rounds": 5},
    {"lookahead": 8, "anchor_floor": 0.2, "confidence": "probability"},
    {"lookahead": 4, "reach": "block"},
    {"lookahead": 8, "reach": "block", "tau_add": 0.1, "tau_act": 0.5, "confidence": "probability"},
    {"lookahead": 8, "reach": "block", "tau_add": 0.0, "tau_conf": 0.5, "anchor_floor": 0.1},
    {"lookahead": 6, "reach": "block", "tau_add": 0.1, "block_size": 4, "max_new_tokens": 24, "confidence_floor": 0.1},
]


def name(changes):
    return ", ".join(f"{key}={value}" for key, value in changes.items()) or "plain"


@pytest.mark.parametrize("model", ["dream-a", "llada-a"])
@pytest.mark.parametrize("changes", CASES, ids=name)
def test_fast_loop_equals_the_slow_one(model, changes):
    compare(conformance_network(model), PROMPTS[CASES.index(changes) % 3], DecodeSettings(**SMALL | changes))


@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("model", ["dream-b", "llada-a"])
@pytest.mark.parametrize("lookahead", [0, 4])
@pytest.mark.parametrize("where", [3, 17, 30])
def test_end_of_text_that_really_comes(model, stop, lookahead, where):
    settings = DecodeSettings(**SMALL | {"lookahead": lookahead, "stop_at_eos": stop})
    network = conformance_network(model)
    plain, *_ = decode_slowly(network, PROMPTS[0], settings)
    answer, _ = compare(network, PROMPTS[0], replace(settings, eos_token_id=plain[where]))
    assert plain[where] in answer


@pytest.mark.parametrize("model", ["dream-a", "dream-b"])
@pytest.mark.parametrize("lookahead", [0, 3])
def test_official_choices_equal_the_slow_loop_too(model, lookahead):
    settings = DecodeSettings(**SMALL | {"max_new_tokens": 45, "round_down": True, "lookahead": lookahead}).reference()
    answer, _ = compare(conformance_network(model), PROMPTS[1], settings)
    assert len(answer) == 40


def test_official_choices_run_the_anchor_twice_where_nothing_is_left_to_try():
    settings = DecodeSettings(**SMALL | {"tau_conf": 0.0, "tau_add": 1.0, "lookahead": 3})
    network = conformance_network("dream-a")
    for chosen, twice in ((settings, False), (settings.reference(), True)):
        _, rounds = compare(network, PROMPTS[0], chosen)
        kinds = [[not tokens for tokens in round_["tried"]] for round_ in rounds]
        assert ([True, True] in kinds) == twice

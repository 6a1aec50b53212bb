"""The plain loop decides what ours does, so that a comparison of them is one of speed alone."""

from dataclasses import replace

import pytest

from lopa_core.bench.plain_loop import decode_plainly
from lopa_core.decode.settings import DecodeSettings, SettingsError
from lopa_core.model.presets import DEFAULT, PRESETS
from lopa_core.runtime.local import LocalEngine
from lopa_core.runtime.session import open_model
from lopa_core.tasks.word_problems import problems

from ..helpers.decoding import run
from ..helpers.models import conformance_network

SETTINGS = DecodeSettings(**PRESETS[DEFAULT].settings)


def compare(network, prompt, settings):
    rounds, outcome = run(prompt, LocalEngine(network), settings)
    plain = decode_plainly(network, prompt, settings)
    assert plain.ids == outcome.tokens
    assert (plain.rounds, plain.branch_forwards) == (len(rounds), sum(len(each.branches) for each in rounds))


@pytest.mark.parametrize("lookahead", [0, 1, 7])
def test_it_gives_the_same_ids_in_the_same_rounds_as_our_loop(lookahead):
    model = open_model()
    for problem in problems(4, split="test"):
        compare(model.network, model.encode(problem.question), replace(SETTINGS, lookahead=lookahead))


@pytest.mark.parametrize("confidence", ["probability", "margin", "neg_entropy"])
@pytest.mark.parametrize("model", ["dream-b", "llada-a"])
def test_also_on_other_networks_and_to_the_last_slot(model, confidence):
    chosen = {"tau_conf": 0.6, "confidence": confidence, "stop_at_eos": False, "confidence_floor": 0.0}
    compare(conformance_network(model), [165, 485, 77, 202, 333, 24, 37], replace(SETTINGS, **chosen))


def test_what_it_does_not_know_is_refused():
    with pytest.raises(SettingsError, match="block_causal"):
        decode_plainly(conformance_network("dream-a"), [1, 2], replace(SETTINGS, attention="full"))

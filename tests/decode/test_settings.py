"""Settings and prompts that cannot be decoded are refused, by name, before anything runs."""

import dataclasses
import math

import numpy as np
import pytest

from lopa_core.decode.decoders import DECODERS
from lopa_core.decode.settings import DecodeSettings, SettingsError

from ..helpers.decoding import FakeEngine, run, scattered

TAUS = ("tau_add", "tau_act", "tau_conf", "confidence_floor", "score_tail_fraction", "score_creation_weight")
WHOLES = ("max_new_tokens", "block_size", "lookahead", "seed", "eos_token_id", "max_rounds")


def test_defaults_are_valid_and_whole_blocks():
    assert DecodeSettings().slots == DecodeSettings().max_new_tokens


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, math.inf, -math.inf, True, False, "0.5", None, 10**400, [0.5]])
@pytest.mark.parametrize("name", TAUS)
def test_shares_outside_0_to_1_are_named(name, value):
    with pytest.raises(SettingsError, match=name):
        DecodeSettings(**{name: value})


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0])
@pytest.mark.parametrize("name", TAUS)
def test_the_ends_of_a_share_are_allowed(name, value):
    assert getattr(DecodeSettings(**{name: value}), name) == value


@pytest.mark.parametrize("value", [-1, 0.5, 16.0, math.nan, True, "16", 10**400])
@pytest.mark.parametrize("name", WHOLES)
def test_counts_that_are_no_whole_number_in_range_are_named(name, value):
    with pytest.raises(SettingsError, match=name):
        DecodeSettings(**{name: value})


@pytest.mark.parametrize(
    "change",
    [
        {"max_new_tokens": 0}, {"max_new_tokens": 4097}, {"max_new_tokens": None}, {"block_size": 0}, {"block_size": 4097},
        {"lookahead": 65}, {"lookahead": None}, {"seed": 2**63}, {"max_rounds": 0}, {"max_rounds": 100_001},
        {"temperature": -0.1}, {"temperature": 5.1}, {"temperature": math.nan}, {"temperature": True},
        {"temperature": 1e-40},  # logits divided by it are infinite
        {"selection": "two"}, {"selection": None}, {"confidence": "entropy"}, {"attention": "causal"}, {"attention": 0},
    ],
    ids=str,
)  # fmt: skip
def test_other_values_out_of_range_are_named(change):
    with pytest.raises(SettingsError, match=next(iter(change))):
        DecodeSettings(**change)


def test_length_that_is_no_whole_number_of_blocks_is_refused_with_the_nearest_ones():
    with pytest.raises(SettingsError, match="70 .* blocks of 16: take 64 or 80"):
        DecodeSettings(max_new_tokens=70, block_size=16)
    assert DecodeSettings(max_new_tokens=70, block_size=16, round_down=True).slots == 64


def test_block_longer_than_the_answer_is_refused():
    for round_down in (False, True):
        with pytest.raises(SettingsError, match="block of 32 is longer than the 16"):
            DecodeSettings(max_new_tokens=16, block_size=32, round_down=round_down)


def test_round_limit_is_one_per_slot_and_block_unless_given():
    settings = DecodeSettings(max_new_tokens=64, block_size=16)
    assert settings.round_limit == 64 + 4 + 1
    assert dataclasses.replace(settings, max_rounds=7).round_limit == 7


def test_settings_cannot_be_changed_or_misspelt():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DecodeSettings().lookahead = 3
    with pytest.raises(TypeError, match="look_ahead"):
        DecodeSettings(look_ahead=3)
    with pytest.raises(SettingsError, match="lookahead"):
        dataclasses.replace(DecodeSettings(), lookahead=-1)


def test_decoders_are_values_of_the_settings():
    settings = DecodeSettings(lookahead=5, seed=3, confidence_floor=0.5)
    assert settings.decoder("lopa") == settings
    assert settings.decoder("confidence") == dataclasses.replace(settings, lookahead=0)
    assert settings.decoder("vanilla") == dataclasses.replace(settings, lookahead=0, selection="one", tau_add=1.0, tau_act=1.0)
    ours = dataclasses.replace(settings, anchor_floor=0.4, reach="block")
    assert ours.decoder("lopa-paper") == dataclasses.replace(settings, confidence_floor=0.0)
    assert all(settings.decoder(name).seed == 3 for name in DECODERS)
    with pytest.raises(SettingsError, match="'beam'.*lopa"):
        settings.decoder("beam")


def test_reference_makes_every_official_choice_and_keeps_the_rest():
    settings = DecodeSettings(lookahead=5, tau_conf=0.6)
    official = settings.reference()
    changed = {field.name for field in dataclasses.fields(settings) if getattr(settings, field.name) != getattr(official, field.name)}
    assert changed == {"stop_at_eos", "stop_at_end_of_turn", "allow_mask_token", "refresh_boundary", "duplicate_anchor", "round_down"}


def test_the_tokens_that_end_a_text():
    config = dataclasses.replace(small_engine().config, end_ids=(59, 7))
    assert DecodeSettings().ends(config) == {59, 7}  # end of text, end of turn
    assert DecodeSettings(stop_at_end_of_turn=False).ends(config) == DecodeSettings().reference().ends(config) == {59}
    assert DecodeSettings(eos_token_id=3).ends(config) == {3}
    assert DecodeSettings().ends(dataclasses.replace(config, eos_id=None, end_ids=())) == frozenset()


SHORT = DecodeSettings(max_new_tokens=8, block_size=4)


def small_engine(positions=16):
    engine = FakeEngine(scattered(0))
    engine.config = dataclasses.replace(engine.config, max_positions=positions)
    return engine


@pytest.mark.parametrize("empty", [[], (), np.array([], dtype=np.int64)])
def test_empty_prompt_is_refused(empty):
    with pytest.raises(SettingsError, match="prompt is empty"):
        run(empty, small_engine(), SHORT)


def test_prompt_may_fill_the_model_but_not_more():
    assert run([1] * 8, small_engine(), SHORT)[1].reason == "complete"
    with pytest.raises(SettingsError, match="prompt has 9 tokens; with 8 new ones this model has room for 8"):
        run([1] * 9, small_engine(), SHORT)


def test_answer_longer_than_the_model_leaves_no_room():
    with pytest.raises(SettingsError, match="room for 0"):
        run([1], small_engine(positions=6), SHORT)


@pytest.mark.parametrize("token", [-1, 61, 10**6])
def test_token_outside_the_vocabulary_is_named(token):
    with pytest.raises(SettingsError, match=f"Token {token} lies outside the vocabulary of 61"):
        run([1, token, 2], small_engine(), SHORT)


@pytest.mark.parametrize("token", [1.5, "1", None, math.nan])
def test_token_that_is_no_whole_number_is_refused(token):
    with pytest.raises(SettingsError):
        run([1, token], small_engine(), SHORT)


def test_end_of_text_outside_the_vocabulary_is_named():
    """It could never be written: stop_at_eos would silently do nothing."""
    with pytest.raises(SettingsError, match="eos_token_id.*61"):
        run([1], small_engine(), dataclasses.replace(SHORT, eos_token_id=61))


def test_prompt_may_hold_mask_and_end_of_text_tokens():
    """They are part of the question: not decoded, and no reason to stop."""
    rounds, outcome = run([60, 59, 60], small_engine(), SHORT)
    assert outcome.reason == "complete" and len(outcome.tokens) == 8
    assert all((round_.slots >= 3).all() for round_ in rounds)

"""The embedded model as a user gets it: from the files in the repository."""

import pytest

from lopa_core.decode.settings import DecodeSettings
from lopa_core.model.presets import CATALOGUE, DEFAULT, PRESETS
from lopa_core.runtime.session import open_model


@pytest.fixture(scope="module")
def model():
    return open_model()


def test_the_embedded_model_loads_and_is_small(model):
    size = (PRESETS[DEFAULT].folder / "model.safetensors").stat().st_size
    assert size < 10_000_000
    assert model.name == "lopa-tiny" and model.network.config.family == "dream"


def test_the_prompt_template_is_the_training_s(model):
    ids = model.tokenizer.encode_prompt("How many 12 pens?")
    assert model.tokenizer.decode(ids) == "How many 12 pens?\nAnswer:"


@pytest.mark.parametrize("text", ["naïve café", "日本語のテキスト", "🦜🦜", "a\tb\n\nc", "1234567 and 120"])
def test_any_text_survives_the_tokenizer(model, text):
    assert model.tokenizer.decode(model.tokenizer.backend.encode(text).ids) == text


def test_special_tokens_in_a_prompt_do_not_break_decoding(model):
    ids = model.tokenizer.encode_prompt("<|mask|> and <|endoftext|>")
    assert ids and max(ids) < model.network.config.vocab_size


def test_small_numbers_are_single_tokens(model):
    for number in (0, 7, 100, 120):
        assert len(model.tokenizer.backend.encode(f" {number}").ids) == 1


def test_every_preset_has_valid_settings():
    for preset in CATALOGUE.values():
        assert DecodeSettings(**preset.settings)

"""config.json: what it may hold, and the sentence about what it may not."""

import json

import pytest

from lopa_core.model.errors import ModelError
from lopa_core.model.family import parse_config, read_config

from ..helpers.models import MODELS, dream_config, llada_config


def test_the_families_facts():
    dream, llada = read_config(MODELS / "dream-a"), read_config(MODELS / "llada-a")
    assert (dream.shifted, dream.qkv_bias, dream.kv_heads, dream.rope_theta) == (True, True, 2, 1e6)
    assert (llada.shifted, llada.qkv_bias, llada.kv_heads, llada.rope_theta) == (False, False, 4, 5e5)
    assert (dream.mask_id, dream.eos_id) == (llada.mask_id, llada.eos_id) == (511, 510)


def test_missing_config_is_said(tmp_path):
    with pytest.raises(ModelError, match=f"{tmp_path} holds no config.json"):
        read_config(tmp_path)


@pytest.mark.parametrize("text", [b"{", b"", b'{"model_type": "Dr\xe9am"}', b"\xff\xfe{\x00}\x00", b"[]", b"7"])
def test_damaged_config_is_named(tmp_path, text):
    (tmp_path / "config.json").write_bytes(text)
    with pytest.raises(ModelError, match="config.json"):
        read_config(tmp_path)


@pytest.mark.parametrize("kind", ["qwen3", "", None, 5, "llama"])
def test_unknown_family_is_named(kind):
    with pytest.raises(ModelError, match=f"model_type {kind!r}"):
        parse_config(dream_config(model_type=kind))


def test_every_number_a_family_needs_is_named_when_it_is_missing():
    optional = {"rope_scaling", "tie_word_embeddings", "eos_token_id", "embedding_size", "weight_tying", "include_qkv_bias"}
    optional |= {"num_key_value_heads", "n_kv_heads", "model_type"}
    for raw in (dream_config(), llada_config()):
        for key in raw.keys() - optional - ({"vocab_size"} if "embedding_size" in raw else set()):
            with pytest.raises(ModelError, match=f"'{key}'"):
                parse_config({name: value for name, value in raw.items() if name != key})


def test_rope_scaling_is_refused():
    with pytest.raises(ModelError, match="rope_scaling"):
        parse_config(dream_config(rope_scaling={"type": "yarn", "factor": 4.0}))


@pytest.mark.parametrize(
    "change",
    [
        {"block_type": "sequential"}, {"layer_norm_type": "low_precision"}, {"activation_type": "swiglu"}, {"rope": False}, {"alibi": True},
        # these change the numbers without changing any key or shape
        {"scale_logits": True}, {"input_emb_norm": True}, {"clip_qkv": 8.0},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_llada_variants_that_would_compute_something_else_are_refused(change):
    with pytest.raises(ModelError, match=next(iter(change))):
        parse_config(llada_config(**change))


def test_dream_with_another_activation_is_refused():
    with pytest.raises(ModelError, match="hidden_act"):
        parse_config(dream_config(hidden_act="gelu"))


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"num_attention_heads": 4, "num_key_value_heads": 4}, "head size 9 is odd"),
        ({"num_attention_heads": 6, "num_key_value_heads": 4}, "6 query heads cannot share 4"),
        ({"num_attention_heads": 0}, "heads"),
        ({"num_attention_heads": "6"}, "heads"),
        ({"num_hidden_layers": -1}, "layers"),
        ({"hidden_size": 36.5}, "hidden_size"),
        ({"vocab_size": None}, "vocab_size"),
        ({"mask_token_id": 61}, "mask token 61 lies outside the vocabulary of 61"),
        ({"mask_token_id": -1}, "mask token -1"),
        ({"mask_token_id": None}, "mask"),
        ({"mask_token_id": "60"}, "mask"),
        ({"eos_token_id": 99}, "end-of-text token 99"),
        ({"rope_theta": "large"}, "rope_theta"),
        ({"rope_theta": None}, "rope_theta"),
        ({"rms_norm_eps": []}, "rms_norm_eps"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_impossible_numbers_are_named(change, culprit):
    with pytest.raises(ModelError, match=culprit):
        parse_config(dream_config(**change))

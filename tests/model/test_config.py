"""config.json: what it may hold, and the sentence about what it may not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import LlamaConfig, ModernBertConfig, Qwen2Config, Qwen3Config

from lopa_core.model.errors import ModelError
from lopa_core.model.family import FAMILIES, ModelConfig, check_attention, parse_config, read_config

from ..helpers.models import MODELS, dream_config, llada_config, llama_config, qwen2_config, qwen3_config

MODERNBERT = {
    "model_type": "modernbert", "vocab_size": 61, "hidden_size": 36, "intermediate_size": 44, "num_hidden_layers": 4,
    "num_attention_heads": 6, "max_position_embeddings": 96, "mask_token_id": 60, "eos_token_id": 59,
}  # fmt: skip
BODIES = {"dream": dream_config, "llada": llada_config, "qwen3": qwen3_config, "llama": llama_config}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 100) | st.floats() | st.sampled_from(["", "silu", "full_attention", "\ud800"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["rope_type", "rope_theta", "a"]), inner, max_size=2),
    max_leaves=4,
)


def test_the_families_facts():
    dream, llada = read_config(MODELS / "dream-a"), read_config(MODELS / "llada-a")
    assert (dream.shifted, dream.qkv_bias, dream.kv_heads, dream.rope_theta) == (True, True, 2, 1e6)
    assert (llada.shifted, llada.qkv_bias, llada.kv_heads, llada.rope_theta) == (False, False, 4, 5e5)
    assert (dream.mask_id, dream.eos_id) == (llada.mask_id, llada.eos_id) == (511, 510)
    assert not dream.qk_norm and not llada.qk_norm and dream.attention == llada.attention == "full"


@pytest.mark.parametrize(
    ("raw", "shifted", "qk_norm", "qkv_bias", "attention"),
    [
        (dream_config(model_type="dream"), True, False, True, "full"),
        (qwen3_config(model_type="sdar", block_size=16), False, True, False, "block_causal"),
        (qwen3_config(model_type="a2d-qwen3"), False, True, False, "full"),
        (qwen2_config(model_type="a2d-qwen2"), False, False, True, "full"),
        (llama_config(model_type="a2d-llama"), False, False, False, "full"),
        (qwen3_config(), False, True, False, "full"),
        (qwen2_config(), False, False, True, "full"),
        (llama_config(), False, False, False, "full"),
        (MODERNBERT, False, False, False, "full"),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_each_model_type_is_read_as_its_family(raw, shifted, qk_norm, qkv_bias, attention):
    config = parse_config(raw)
    assert config.family == raw["model_type"].lower() in FAMILIES
    assert (config.shifted, config.qk_norm, config.qkv_bias, config.attention) == (shifted, qk_norm, qkv_bias, attention)
    assert config.head_dim == raw.get("head_dim", 6) and config.mask_id == 60 and config.end_ids == (59,)
    assert config.block_size == (raw.get("block_size") if attention == "block_causal" else None)


def test_a_trained_block_is_told_by_block_causal_families_only():
    assert parse_config(qwen3_config(model_type="sdar")).block_size == 4  # as in its authors' scripts
    assert parse_config(qwen3_config(block_size=16)).block_size is None
    with pytest.raises(ModelError, match="block_size"):
        parse_config(qwen3_config(model_type="sdar", block_size=0))


def test_missing_config_is_said(tmp_path):
    with pytest.raises(ModelError, match=f"{tmp_path} holds no config.json"):
        read_config(tmp_path)


@pytest.mark.parametrize("text", [b"{", b"", b'{"model_type": "Dr\xe9am"}', b"\xff\xfe{\x00}\x00", b"[]", b"7"])
@pytest.mark.parametrize("name", ["config.json", "generation_config.json"])
def test_damaged_config_is_named(tmp_path, name, text):
    (tmp_path / "config.json").write_text(json.dumps(dream_config()))
    (tmp_path / name).write_bytes(text)
    with pytest.raises(ModelError, match=name):
        read_config(tmp_path)


@pytest.mark.parametrize("kind", ["gpt2", "Fast_dLLM_Qwen", "", None, 5])
def test_unknown_family_is_named(kind):
    with pytest.raises(ModelError, match=f"model_type {kind!r} is not supported: this network does not know it; take one of Dream"):
        parse_config(dream_config(model_type=kind))


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ({"model_type": "llada2_moe"}, "mixture of experts"),
        ({"model_type": "lladamoe"}, "mixture of experts"),
        ({"model_type": "sdar_moe"}, "mixture of experts"),
        (llada_config(num_experts=64), "mixture of experts"),
        ({"model_type": "diffusion_gemma"}, "uniform noise and has no mask token"),
    ],
)
def test_families_that_cannot_be_run_are_told_why(raw, why):
    with pytest.raises(ModelError, match=why):
        parse_config(raw)


def needed_keys(raw):
    optional = {"rope_scaling", "tie_word_embeddings", "eos_token_id", "embedding_size", "weight_tying", "include_qkv_bias", "model_type"}
    optional |= {"n_kv_heads"} | ({"vocab_size"} if "embedding_size" in raw else {"rms_norm_eps"})
    return raw.keys() - optional - ({"num_key_value_heads"} if raw["model_type"] == "llama" else set())


@pytest.mark.parametrize("make", BODIES.values(), ids=BODIES)
def test_every_number_a_family_needs_is_named_when_it_is_missing(make):
    raw = make()
    for key in needed_keys(raw):
        with pytest.raises(ModelError, match=f"'{key}'"):
            parse_config({name: value for name, value in raw.items() if name != key})


@given(st.data())
def test_whatever_a_key_holds_it_is_read_or_refused_in_a_sentence(data):
    raw = data.draw(st.sampled_from([dream_config(), llada_config(), qwen3_config(), llama_config(), MODERNBERT]))
    odd = {"rope_parameters", "rope_scaling", "layer_types", "use_sliding_window", "sliding_window", "max_window_layers", "num_experts"}
    odd |= {"quantization_config", "attention_bias", "hidden_act", "head_dim", "block_size", "global_rope_theta"}
    changes = data.draw(st.dictionaries(st.sampled_from(sorted(raw.keys() | odd)), JSON, min_size=1, max_size=2))
    try:
        config = parse_config(raw | changes)
    except ModelError as error:
        assert str(error).endswith(".") and "\n" not in str(error)
    else:
        assert isinstance(config, ModelConfig)


@pytest.mark.parametrize("make", [dream_config, qwen3_config, llama_config])
def test_transformers_5_writes_the_rotary_base_elsewhere(make):
    old = make()
    new = {key: value for key, value in old.items() if key not in ("rope_theta", "rope_scaling")}
    assert parse_config(new | {"rope_parameters": {"rope_theta": 700.0, "rope_type": "default"}}) == parse_config(old)
    assert parse_config(old | {"rope_parameters": {"rope_theta": 700.0, "rope_type": "default"}}) == parse_config(old)
    with pytest.raises(ModelError, match="rope_theta is 700.0, but 9.0 in rope_parameters"):
        parse_config(old | {"rope_parameters": {"rope_theta": 9.0, "rope_type": "default"}})


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("more", [{"type": "yarn", "factor": 4.0}, {"rope_type": "linear"}, {"partial_rotary_factor": 0.5}])
def test_scaled_positions_are_refused(key, more):
    with pytest.raises(ModelError, match=key):
        parse_config(dream_config(**{key: {"rope_theta": 700.0} | more}))


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


@pytest.mark.parametrize(
    ("make", "change", "culprit"),
    [
        (dream_config, {"hidden_act": "gelu"}, "hidden_act"),
        (qwen3_config, {"attention_bias": True}, "attention_bias"),
        (llama_config, {"attention_bias": True}, "attention_bias"),
        (llama_config, {"mlp_bias": True}, "mlp_bias"),
        (qwen2_config, {"use_sliding_window": True, "sliding_window": 32, "max_window_layers": 1}, "sliding_attention"),
        (qwen3_config, {"layer_types": ["full_attention", "sliding_attention", "full_attention"]}, "sliding_attention"),
        (qwen3_config, {"quantization_config": {"quant_method": "gptq", "bits": 4}}, "quantised .gptq.*bfloat16"),
        (qwen3_config, {"quantization_config": {"quant_method": "fp8"}}, "quantised .fp8.*bfloat16"),
    ],
)
def test_bodies_that_would_compute_something_else_are_refused(make, change, culprit):
    with pytest.raises(ModelError, match=culprit):
        parse_config(make(**change))


@pytest.mark.parametrize(
    "change",
    [
        {"use_sliding_window": False, "sliding_window": 4096, "max_window_layers": 1},
        {"use_sliding_window": True, "sliding_window": None},
        {"use_sliding_window": True, "sliding_window": 32, "max_window_layers": 3},
        {"layer_types": ["full_attention"] * 3},
    ],
)
def test_a_window_that_is_not_switched_on_does_nothing(change):
    assert parse_config(qwen2_config(**change)) == parse_config(qwen2_config())


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
        ({"mask_token_id": None}, "ordinary autoregressive"),
        ({"mask_token_id": "60"}, "mask"),
        ({"eos_token_id": 99}, "end-of-text token 99"),
        ({"eos_token_id": [59, 99]}, "end-of-text token 99"),
        ({"eos_token_id": "59"}, "eos_token_id.*'59'"),
        ({"rope_theta": "large"}, "rope_theta"),
        ({"rope_theta": None}, "rope_theta"),
        ({"rms_norm_eps": []}, "rms_norm_eps"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_impossible_numbers_are_named(change, culprit):
    with pytest.raises(ModelError, match=culprit):
        parse_config(dream_config(**change))


@pytest.mark.parametrize(
    ("family", "kind"), [("qwen2", Qwen2Config), ("qwen3", Qwen3Config), ("llama", LlamaConfig), ("modernbert", ModernBertConfig)]
)
def test_what_transformers_saves_is_read(tmp_path, family, kind):
    theirs = kind(vocab_size=50400, hidden_size=256, num_attention_heads=4, num_key_value_heads=2)
    theirs.save_pretrained(tmp_path)
    raw = json.loads((tmp_path / "config.json").read_text())
    config = parse_config(raw | {"mask_token_id": 7})
    assert (config.family, config.hidden_size, config.layers) == (family, 256, theirs.num_hidden_layers)
    assert (config.head_dim, config.kv_heads) == (getattr(theirs, "head_dim", 64), 4 if family == "modernbert" else 2)
    assert (config.tied, config.max_positions) == (theirs.tie_word_embeddings, theirs.max_position_embeddings)


def write(folder, raw, *, generation=None, tokenizer=None):
    for name, value in (("config", raw), ("generation_config", generation), ("tokenizer_config", tokenizer)):
        if value is not None:
            (folder / f"{name}.json").write_text(json.dumps(value))
    return folder


def names(**ids):
    """tokenizer_config.json with these special tokens; a mask if one of them is called so."""
    added = {str(index): {"content": text, "special": True} for text, index in ids.items()}
    return {"added_tokens_decoder": added} | ({"mask_token": "<|mask|>"} if "<|mask|>" in ids else {})


def test_the_mask_is_read_from_the_tokenizer_where_the_config_has_none(tmp_path):
    raw = qwen3_config(model_type="a2d-qwen3", mask_token_id=None)
    assert read_config(write(tmp_path, raw, tokenizer=names(**{"<|mask|>": 58}))).mask_id == 58
    with pytest.raises(ModelError, match="60 in config.json, but 58 in the tokenizer"):
        read_config(write(tmp_path, qwen3_config(), tokenizer=names(**{"<|mask|>": 58})))
    with pytest.raises(ModelError, match="mask token 70 lies outside"):
        read_config(write(tmp_path, raw, tokenizer=names(**{"<|mask|>": 70})))


@pytest.mark.parametrize("make", [qwen2_config, qwen3_config, llama_config])
def test_an_ordinary_autoregressive_checkpoint_is_told_so(tmp_path, make):
    raw = make()
    del raw["mask_token_id"]
    with pytest.raises(ModelError, match="ordinary autoregressive checkpoint"):
        read_config(write(tmp_path, raw, tokenizer=names(**{"<|im_end|>": 57})))


def test_all_end_tokens_are_told_in_order(tmp_path):
    tokens = names(**{"<|im_end|>": 57}) | {"eos_token": "<|im_end|>"}
    config = read_config(write(tmp_path, dream_config(), generation={"eos_token_id": [56, 59]}, tokenizer=tokens))
    assert (config.end_ids, config.eos_id) == ((59, 56, 57), 59)
    config = read_config(write(tmp_path, dream_config(eos_token_id=[55, 54]), generation={}, tokenizer=tokens))
    assert (config.end_ids, config.eos_id) == ((55, 54, 57), 55)
    config = read_config(write(tmp_path, dream_config(eos_token_id=None), generation={"eos_token_id": 3}, tokenizer={}))
    assert (config.end_ids, config.eos_id) == ((3,), 3)


@pytest.mark.parametrize("ids", [-1, 61, [128001, 3], [3, -1]])
def test_end_tokens_of_another_model_are_left_out_with_a_notice(tmp_path, ids):
    """All of that file's: id 3 of another model would end the texts of this one anywhere."""
    config = read_config(write(tmp_path, dream_config(), generation={"eos_token_id": ids}))
    (notice,) = config.notices
    assert config.end_ids == (59,) and notice.startswith("generation_config.json ends a text by token ")
    assert "a vocabulary of 61 does not have" in notice


@pytest.mark.parametrize("ids", ["59", [None], True, {"a": 1}])
def test_end_tokens_that_are_none_are_named_with_their_file(tmp_path, ids):
    with pytest.raises(ModelError, match="generation_config.json: eos_token_id must be"):
        read_config(write(tmp_path, dream_config(), generation={"eos_token_id": ids}))


def test_the_end_tokens_of_all_tokenizer_files_end_a_text(tmp_path):
    write(tmp_path, dream_config(), tokenizer=names(**{"<|im_end|>": 57, "</s>": 50}) | {"eos_token": "</s>"})
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"eos_token": {"content": "<|im_end|>"}}))
    assert read_config(tmp_path).end_ids == (59, 50, 57)


@pytest.mark.parametrize(("told", "wide"), [({}, True), ({"rope_full_precision": True}, True), ({"rope_full_precision": False}, False)])
def test_llada_tells_whether_positions_are_rotated_in_fp32(told, wide):
    assert parse_config(llada_config(**told)).rope_fp32 is wide and not parse_config(dream_config()).rope_fp32
    with pytest.raises(ModelError, match="rope_full_precision must be true or false, not 'yes'"):
        parse_config(llada_config(rope_full_precision="yes"))


def test_a_model_may_have_no_end_token():
    config = parse_config(dream_config(eos_token_id=None))
    assert config.eos_id is None and config.end_ids == ()


def test_only_an_encoder_refuses_block_causal_attention():
    encoder, decoder = parse_config(MODERNBERT), parse_config(dream_config())
    assert encoder.encoder and not decoder.encoder
    for config, attention in ((encoder, "full"), (decoder, "full"), (decoder, "block_causal")):
        check_attention(config, attention)
    with pytest.raises(ModelError, match="modernbert is an encoder.*full attention"):
        check_attention(encoder, "block_causal")

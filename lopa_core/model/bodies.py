"""The shape of a network as each family's config.json tells it; what this network would not compute is refused.

A body is a function: config.json -> the shape's fields of family.ModelConfig. A key that transformers leaves out takes
the default of its own class where that is sure; any other is asked for by name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .errors import ModelError

Raw = Mapping[str, Any]
Shape = dict[str, Any]

NORM_EPS = 1e-6  # of Qwen2Config, Qwen3Config and LlamaConfig alike


def qwen2(raw: Raw) -> Shape:
    """Biases on queries, keys and values, none elsewhere."""
    return decoder(raw, grouped=True) | {"qkv_bias": True}


def qwen3(raw: Raw) -> Shape:
    """No biases; queries and keys are normed per head, whose size is a number of its own."""
    forbid(raw, attention_bias=False)
    return decoder(raw, grouped=True) | {"qkv_bias": False, "qk_norm": True, "head_dim": count(raw, "head_dim")}


def llama(raw: Raw) -> Shape:
    """No biases."""
    forbid(raw, attention_bias=False, mlp_bias=False)
    return decoder(raw, grouped=False) | {"qkv_bias": False}


def decoder(raw: Raw, *, grouped: bool) -> Shape:
    """What Qwen2, Qwen3 and Llama have in common, in transformers' names. grouped: the number of key/value heads has to be told."""
    forbid(raw, hidden_act="silu")
    refuse_windows(raw)
    heads = count(raw, "num_attention_heads")
    shared = raw["num_key_value_heads"] if grouped else raw.get("num_key_value_heads")
    return {
        "vocab_size": count(raw, "vocab_size"), "hidden_size": count(raw, "hidden_size"), "ffn_size": count(raw, "intermediate_size"),
        "layers": count(raw, "num_hidden_layers"), "heads": heads, "kv_heads": heads if shared is None else shared,
        "head_dim": count(raw, "head_dim") if raw.get("head_dim") else count(raw, "hidden_size") // heads,
        "rope_theta": rope_theta(raw), "norm_eps": positive({"rms_norm_eps": NORM_EPS, **raw}, "rms_norm_eps"),
        "tied": bool(raw.get("tie_word_embeddings", False)), "max_positions": count(raw, "max_position_embeddings"),
    }  # fmt: skip


def llada(raw: Raw) -> Shape:
    """A Llama body in names of its own."""
    forbid(raw, block_type="llama", layer_norm_type="rms", activation_type="silu", rope=True, alibi=False)
    forbid(raw, scale_logits=False, input_emb_norm=False, clip_qkv=None)
    heads = count(raw, "n_heads")
    return {
        "vocab_size": count(raw, "embedding_size" if raw.get("embedding_size") else "vocab_size"),
        "hidden_size": count(raw, "d_model"), "ffn_size": count(raw, "mlp_hidden_size"), "layers": count(raw, "n_layers"),
        "heads": heads, "kv_heads": raw.get("n_kv_heads") or heads, "head_dim": count(raw, "d_model") // heads,
        "rope_theta": rope_theta(raw), "norm_eps": positive(raw, "rms_norm_eps"),
        "qkv_bias": bool(raw.get("include_qkv_bias", False)), "tied": bool(raw.get("weight_tying", False)),
        "max_positions": count(raw, "max_sequence_length"),
        "rope_fp32": switch({"rope_full_precision": True, **raw}, "rope_full_precision"),
    }  # fmt: skip


def modernbert(raw: Raw) -> Shape:
    """An encoder: transformers' own class reads and runs it, so these numbers only describe it."""
    heads = count(raw, "num_attention_heads")
    theta = {"rope_theta": raw.get("global_rope_theta", 160_000.0)} | section(section(raw, "rope_parameters"), "full_attention")
    return {
        "vocab_size": count(raw, "vocab_size"), "hidden_size": count(raw, "hidden_size"), "ffn_size": count(raw, "intermediate_size"),
        "layers": count(raw, "num_hidden_layers"), "heads": heads, "kv_heads": heads, "head_dim": count(raw, "hidden_size") // heads,
        "rope_theta": positive(theta, "rope_theta"), "norm_eps": positive({"norm_eps": 1e-5, **raw}, "norm_eps"),
        "qkv_bias": bool(raw.get("attention_bias", False)), "tied": bool(raw.get("tie_word_embeddings", True)),
        "max_positions": count(raw, "max_position_embeddings"),
    }  # fmt: skip


def rope_theta(raw: Raw) -> float:
    """Base of the rotary angles: in `rope_parameters` since transformers 5, in `rope_theta` before."""
    forbid(raw, partial_rotary_factor=1.0)
    told = {"rope_theta": raw["rope_theta"]} if "rope_theta" in raw else {}
    for name in ("rope_scaling", "rope_parameters"):
        given = section(raw, name)
        kind = given.get("rope_type", given.get("type", "default"))
        if kind != "default" or given.get("partial_rotary_factor", 1.0) != 1.0:
            raise ModelError(f"config.json: {name} = {given!r} changes the positions, and this network computes plain ones only.")
        if "rope_theta" in given and given["rope_theta"] != told.setdefault("rope_theta", given["rope_theta"]):
            raise ModelError(f"config.json: rope_theta is {told['rope_theta']!r}, but {given['rope_theta']!r} in {name}: they must agree.")
    return positive(told, "rope_theta")


def refuse_windows(raw: Raw) -> None:
    """Raise ModelError where a layer sees a sliding window only; a window's size without its switch does nothing."""
    kinds = raw.get("layer_types")
    if kinds is None:
        slides = raw.get("use_sliding_window") and raw.get("sliding_window") is not None
        kinds = ["sliding_attention"] if slides and raw.get("max_window_layers") != raw["num_hidden_layers"] else []
    if not isinstance(kinds, list) or any(kind != "full_attention" for kind in kinds):
        raise ModelError(f"config.json asks for layers of {kinds!r}, and this network computes full_attention only.")


def forbid(raw: Raw, **computed: Any) -> None:
    """Raise ModelError for a key that is set to anything but what this network computes; an absent one is fine."""
    for key, value in computed.items():
        if raw.get(key, value) != value:
            raise ModelError(f"config.json: {key} = {raw[key]!r}, and this network computes {value!r} only.")


def section(raw: Raw, key: str) -> dict[str, Any]:
    """An object within config.json; empty where it is absent or null."""
    if not isinstance(raw.get(key) or {}, Mapping):
        raise ModelError(f"config.json: {key} must be an object, not {raw[key]!r}.")
    return dict(raw.get(key) or {})


def count(raw: Raw, key: str) -> int:
    """A positive whole number of config.json."""
    if not isinstance(raw[key], int) or raw[key] < 1:
        raise ModelError(f"config.json: {key} must be a positive whole number, not {raw[key]!r}.")
    return raw[key]


def switch(raw: Raw, key: str) -> bool:
    """A true or false of config.json."""
    if not isinstance(raw[key], bool):
        raise ModelError(f"config.json: {key} must be true or false, not {raw[key]!r}.")
    return raw[key]


def positive(raw: Raw, key: str) -> float:
    """A positive number of config.json."""
    if not isinstance(raw[key], (int, float)) or not 0 < raw[key] < math.inf:
        raise ModelError(f"config.json: {key} must be a positive number, not {raw[key]!r}.")
    return float(raw[key])

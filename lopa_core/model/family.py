"""What differs between the families of diffusion language models: facts read from config.json, never guessed.

Dream is a Qwen2 body whose row i predicts slot i + 1 (it was initialised from an autoregressive model);
LLaDA is a Llama body whose row i predicts slot i. Everything else is a number in `ModelConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ModelError
from .files import read_object


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """Shape and conventions of one checkpoint.

    Lengths are in tokens, sizes in features. `shifted`: row i holds the prediction of slot i + 1 (Dream),
    else of slot i (LLaDA).
    """

    family: str
    vocab_size: int
    hidden_size: int
    ffn_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    rope_theta: float
    norm_eps: float
    qkv_bias: bool
    tied: bool
    shifted: bool
    max_positions: int
    mask_id: int
    eos_id: int | None

    def __post_init__(self) -> None:
        sizes = ("vocab_size", "hidden_size", "ffn_size", "layers", "heads", "kv_heads", "head_dim", "max_positions")
        for name in sizes:
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ModelError(f"config.json: {name} must be a positive whole number, not {value!r}.")
        if self.heads % self.kv_heads:
            raise ModelError(f"config.json: {self.heads} query heads cannot share {self.kv_heads} key/value heads.")
        if self.head_dim % 2:
            raise ModelError(f"config.json: the head size {self.head_dim} is odd; rotary embeddings need pairs.")
        for name, token in (("mask", self.mask_id), ("end-of-text", self.eos_id)):
            if token is None and name == "end-of-text":
                continue
            if not isinstance(token, int) or not 0 <= token < self.vocab_size:
                raise ModelError(f"config.json: the {name} token {token!r} lies outside the vocabulary of {self.vocab_size}.")


def read_config(folder: str | Path) -> ModelConfig:
    """Read `folder/config.json`. Raises ModelError if it is missing, not JSON, or of an unknown family."""
    missing = f"{folder} holds no config.json: give the folder of a Dream or LLaDA checkpoint."
    return parse_config(read_object(Path(folder) / "config.json", missing=missing))


def parse_config(raw: Mapping[str, Any]) -> ModelConfig:
    """Turn a checkpoint's config.json into a `ModelConfig`; the family is told by `model_type`."""
    readers = {"dream": _dream, "llada": _llada}
    family = str(raw.get("model_type", "")).lower()
    if family not in readers:
        raise ModelError(f"model_type {raw.get('model_type')!r} is not supported: this network reads Dream and LLaDA checkpoints.")
    try:
        return readers[family](raw)
    except KeyError as error:
        raise ModelError(f"config.json lacks {error.args[0]!r}, which a {family} checkpoint needs.") from None


def count(raw: Mapping[str, Any], key: str) -> int:
    """A positive whole number of config.json."""
    if not isinstance(raw[key], int) or raw[key] < 1:
        raise ModelError(f"config.json: {key} must be a positive whole number, not {raw[key]!r}.")
    return raw[key]


def positive(raw: Mapping[str, Any], key: str) -> float:
    """A positive number of config.json."""
    if not isinstance(raw[key], (int, float)) or not raw[key] > 0:
        raise ModelError(f"config.json: {key} must be a positive number, not {raw[key]!r}.")
    return float(raw[key])


def _dream(raw: Mapping[str, Any]) -> ModelConfig:
    if raw.get("rope_scaling") is not None:
        raise ModelError("config.json asks for rope_scaling, which no Dream checkpoint uses and this network does not do.")
    if raw.get("hidden_act", "silu") != "silu":
        raise ModelError(
            f"config.json: hidden_act = {raw['hidden_act']!r} is not Dream's 'silu'; this network would compute something else."
        )
    heads = count(raw, "num_attention_heads")
    return ModelConfig(
        family="dream", shifted=True, qkv_bias=True,
        vocab_size=raw["vocab_size"], hidden_size=raw["hidden_size"], ffn_size=raw["intermediate_size"],
        layers=raw["num_hidden_layers"], heads=heads, kv_heads=raw.get("num_key_value_heads") or heads,
        head_dim=raw.get("head_dim") or count(raw, "hidden_size") // heads,
        rope_theta=positive(raw, "rope_theta"), norm_eps=positive(raw, "rms_norm_eps"),
        tied=bool(raw.get("tie_word_embeddings", False)), max_positions=raw["max_position_embeddings"],
        mask_id=raw["mask_token_id"], eos_id=raw.get("eos_token_id"),
    )  # fmt: skip


def _llada(raw: Mapping[str, Any]) -> ModelConfig:
    unusual = {"block_type": "llama", "layer_norm_type": "rms", "activation_type": "silu", "rope": True, "alibi": False}
    unusual |= {"scale_logits": False, "input_emb_norm": False, "clip_qkv": None}
    for key, expected in unusual.items():
        if raw.get(key, expected) != expected:
            raise ModelError(f"config.json: {key} = {raw[key]!r} is not LLaDA's {expected!r}; this network would compute something else.")
    heads = count(raw, "n_heads")
    return ModelConfig(
        family="llada", shifted=False, qkv_bias=bool(raw.get("include_qkv_bias", False)),
        vocab_size=raw.get("embedding_size") or raw["vocab_size"], hidden_size=raw["d_model"],
        ffn_size=raw["mlp_hidden_size"], layers=raw["n_layers"], heads=heads,
        kv_heads=raw.get("n_kv_heads") or heads, head_dim=count(raw, "d_model") // heads,
        rope_theta=positive(raw, "rope_theta"), norm_eps=positive(raw, "rms_norm_eps"),
        tied=bool(raw.get("weight_tying", False)), max_positions=raw["max_sequence_length"],
        mask_id=raw["mask_token_id"], eos_id=raw.get("eos_token_id"),
    )  # fmt: skip

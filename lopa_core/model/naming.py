"""Names of weights: how a family's files call what the network calls by its own name.

`parts` maps one parameter of the network to the file keys that are stacked into it along dim 0
(queries, keys and values; gate and up), in order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .errors import ModelError
from .family import ModelConfig


@dataclass(frozen=True, slots=True)
class Layout:
    """outside: parameters of no layer. prefix: of a layer, before its number. layer: parameters of each layer."""

    outside: dict[str, str]
    prefix: str
    layer: dict[str, tuple[str, ...]]


_TRANSFORMERS = Layout(
    {"embed.weight": "model.embed_tokens.weight", "norm.weight": "model.norm.weight", "head.weight": "lm_head.weight"},
    "model.layers",
    {
        "attention_norm.weight": ("input_layernorm.weight",),
        "attention.qkv.weight": ("self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight"),
        "attention.qkv.bias": ("self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias"),
        "attention.q_norm.weight": ("self_attn.q_norm.weight",),
        "attention.k_norm.weight": ("self_attn.k_norm.weight",),
        "attention.out.weight": ("self_attn.o_proj.weight",),
        "ffn_norm.weight": ("post_attention_layernorm.weight",),
        "gate_up.weight": ("mlp.gate_proj.weight", "mlp.up_proj.weight"),
        "down.weight": ("mlp.down_proj.weight",),
    },
)
_LLADA = Layout(
    {
        "embed.weight": "model.transformer.wte.weight",
        "norm.weight": "model.transformer.ln_f.weight",
        "head.weight": "model.transformer.ff_out.weight",
    },
    "model.transformer.blocks",
    {
        "attention_norm.weight": ("attn_norm.weight",),
        "attention.qkv.weight": ("q_proj.weight", "k_proj.weight", "v_proj.weight"),
        "attention.qkv.bias": ("q_proj.bias", "k_proj.bias", "v_proj.bias"),
        "attention.out.weight": ("attn_out.weight",),
        "ffn_norm.weight": ("ff_norm.weight",),
        "gate_up.weight": ("ff_proj.weight", "up_proj.weight"),
        "down.weight": ("ff_out.weight",),
    },
)
# Tables of cosines that old versions of the libraries saved: they are computed from config.json.
_HARMLESS = (".rotary_emb.inv_freq",)


def layout(config: ModelConfig) -> Layout:
    return _LLADA if config.family == "llada" else _TRANSFORMERS


def tied_keys(config: ModelConfig) -> tuple[str, str]:
    """File keys of the embedding and of the head that may be tied to it."""
    if config.encoder:
        return "model.embeddings.tok_embeddings.weight", "decoder.weight"
    outside = layout(config).outside
    return outside["embed.weight"], outside["head.weight"]


def parts(config: ModelConfig) -> dict[str, tuple[str, ...]]:
    """Network parameter -> file keys stacked into it. A tied head, absent biases and absent norms have no entry."""
    names = layout(config)
    absent = {"head.weight": config.tied, "attention.qkv.bias": not config.qkv_bias}
    absent |= {"attention.q_norm.weight": not config.qk_norm, "attention.k_norm.weight": not config.qk_norm}
    found = {ours: (theirs,) for ours, theirs in names.outside.items() if not absent.get(ours)}
    for index in range(config.layers):
        for ours, theirs in names.layer.items():
            if not absent.get(ours):
                found[f"layers.{index}.{ours}"] = tuple(f"{names.prefix}.{index}.{key}" for key in theirs)
    return found


def check_known(config: ModelConfig, extra: Iterable[str]) -> None:
    """Raise ModelError for keys that no parameter takes, unless they are harmless; a tied head may be stored all the same."""
    _, head = tied_keys(config)
    unknown = sorted(key for key in extra if not key.endswith(_HARMLESS) and not (config.tied and key == head))
    if unknown:
        raise ModelError(f"The checkpoint holds {len(unknown)} keys this network does not know, {unknown[0]} among them.")


def part_sizes(config: ModelConfig, ours: str) -> list[int] | None:
    """Rows of each stacked part of a fused parameter; None where nothing is stacked."""
    if ".qkv." in ours:
        return [config.heads * config.head_dim, config.kv_heads * config.head_dim, config.kv_heads * config.head_dim]
    if ".gate_up." in ours:
        return [config.ffn_size, config.ffn_size]
    return None

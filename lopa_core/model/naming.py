"""Names of weights: how each family's files call what the network calls by its own name.

`parts` maps one parameter of the network to the file keys that are stacked into it along dim 0
(queries, keys and values; gate and up), in order.
"""

from __future__ import annotations

from .family import ModelConfig

_DREAM_LAYER = {
    "attention_norm.weight": ("input_layernorm.weight",),
    "attention.qkv.weight": ("self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight"),
    "attention.qkv.bias": ("self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias"),
    "attention.out.weight": ("self_attn.o_proj.weight",),
    "ffn_norm.weight": ("post_attention_layernorm.weight",),
    "gate_up.weight": ("mlp.gate_proj.weight", "mlp.up_proj.weight"),
    "down.weight": ("mlp.down_proj.weight",),
}
_LLADA_LAYER = {
    "attention_norm.weight": ("attn_norm.weight",),
    "attention.qkv.weight": ("q_proj.weight", "k_proj.weight", "v_proj.weight"),
    "attention.qkv.bias": ("q_proj.bias", "k_proj.bias", "v_proj.bias"),
    "attention.out.weight": ("attn_out.weight",),
    "ffn_norm.weight": ("ff_norm.weight",),
    "gate_up.weight": ("ff_proj.weight", "up_proj.weight"),
    "down.weight": ("ff_out.weight",),
}
_OUTSIDE = {
    "dream": {"embed.weight": "model.embed_tokens.weight", "norm.weight": "model.norm.weight", "head.weight": "lm_head.weight"},
    "llada": {
        "embed.weight": "model.transformer.wte.weight",
        "norm.weight": "model.transformer.ln_f.weight",
        "head.weight": "model.transformer.ff_out.weight",
    },
}
_LAYERS = {"dream": ("model.layers", _DREAM_LAYER), "llada": ("model.transformer.blocks", _LLADA_LAYER)}


def parts(config: ModelConfig) -> dict[str, tuple[str, ...]]:
    """Network parameter -> file keys stacked into it. A tied head and absent biases have no entry."""
    names = {ours: (theirs,) for ours, theirs in _OUTSIDE[config.family].items()}
    if config.tied:
        del names["head.weight"]
    prefix, layer = _LAYERS[config.family]
    for index in range(config.layers):
        for ours, theirs in layer.items():
            if ours != "attention.qkv.bias" or config.qkv_bias:
                names[f"layers.{index}.{ours}"] = tuple(f"{prefix}.{index}.{key}" for key in theirs)
    return names


def part_sizes(config: ModelConfig, ours: str) -> list[int] | None:
    """Rows of each stacked part of a fused parameter; None where nothing is stacked."""
    if ".qkv." in ours:
        return [config.heads * config.head_dim, config.kv_heads * config.head_dim, config.kv_heads * config.head_dim]
    if ".gate_up." in ours:
        return [config.ffn_size, config.ffn_size]
    return None

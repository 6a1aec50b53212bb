"""transformers' own models as the truth to compare with: random weights, run without a causal mask, saved in every layout."""

from __future__ import annotations

from pathlib import Path
from types import MethodType
from typing import Any

import torch
import torch.nn.functional as F
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from .models import write_checkpoint

_QWEN2, _QWEN3, _LLAMA = (Qwen2Config, Qwen2ForCausalLM), (Qwen3Config, Qwen3ForCausalLM), (LlamaConfig, LlamaForCausalLM)
BODIES = {
    "dream": _QWEN2, "qwen2": _QWEN2, "a2d-qwen2": _QWEN2, "qwen3": _QWEN3, "sdar": _QWEN3, "a2d-qwen3": _QWEN3,
    "llada": _LLAMA, "llama": _LLAMA, "a2d-llama": _LLAMA,
}  # fmt: skip
_NAMES = {
    "d_model": "hidden_size", "mlp_hidden_size": "intermediate_size", "n_layers": "num_hidden_layers", "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads", "weight_tying": "tie_word_embeddings", "max_sequence_length": "max_position_embeddings",
    "include_qkv_bias": "attention_bias",
}  # fmt: skip
_SHAPE = {
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
    "tie_word_embeddings", "max_position_embeddings", "attention_bias", "rms_norm_eps",
}  # fmt: skip
LLAMA_TO_LLADA = {
    "model.embed_tokens": "model.transformer.wte", "model.norm": "model.transformer.ln_f", "lm_head": "model.transformer.ff_out",
    "model.layers": "model.transformer.blocks", "self_attn.o_proj": "attn_out", "self_attn.": "", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ff_norm", "mlp.gate_proj": "ff_proj", "mlp.up_proj": "up_proj", "mlp.down_proj": "ff_out",
}  # fmt: skip


def theirs(raw: dict[str, Any], seed: int = 0, dtype: torch.dtype = torch.float64) -> PreTrainedModel:
    """A model of this config.json with random weights, in transformers' own class of its body."""
    kind, model = BODIES[raw["model_type"].lower()]
    named = {_NAMES.get(key, key): value for key, value in raw.items()}
    shape = {key: value for key, value in named.items() if key in _SHAPE}
    positions = {"rope_type": "default", "rope_theta": raw["rope_theta"]}
    config = kind(**shape, rope_parameters=positions, use_cache=False, attn_implementation="sdpa")
    return randomise(model(config), seed, dtype)


def their_encoder(seed: int = 0, dtype: torch.dtype = torch.float64, **changes: Any) -> PreTrainedModel:
    """A ModernBERT with random weights: two layers see all, two see four tokens to each side."""
    sizes = {"vocab_size": 61, "hidden_size": 36, "intermediate_size": 44, "num_hidden_layers": 4, "num_attention_heads": 6}
    ids = {"pad_token_id": 0, "bos_token_id": 1, "cls_token_id": 1, "eos_token_id": 59, "sep_token_id": 59}
    more = {"local_attention": 8, "max_position_embeddings": 96, "attn_implementation": "sdpa"}
    return randomise(ModernBertForMaskedLM(ModernBertConfig(**sizes | ids | more | changes)), seed, dtype)


def randomise(model: PreTrainedModel, seed: int, dtype: torch.dtype) -> PreTrainedModel:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in model.named_parameters():
            noise = 0.2 * torch.randn(value.shape, generator=generator)
            # LLaDA's include_qkv_bias leaves the output projection without one; Llama's attention_bias does not
            value.copy_(noise * ("o_proj.bias" not in name) + ("norm" in name))
    return exact(model.to(dtype)).eval()


def exact(model: PreTrainedModel) -> PreTrainedModel:
    """Their norms compute in fp32 whatever the dtype; here in the model's own, so that fp64 means fp64."""

    def norm(self: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, self.variance_epsilon)

    for module in model.modules():
        if type(module).__name__.endswith("RMSNorm"):
            module.forward = MethodType(norm, module)
    return model


def logits(model: PreTrainedModel, tokens: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    """mask [1, 1, W, W] bool; none: everything is seen, which a 4-D mask of zeros says."""
    bias = torch.zeros(len(tokens), 1, tokens.shape[1], tokens.shape[1], dtype=model.dtype)
    if mask is not None:
        bias = bias.masked_fill(~mask, float("-inf"))
    with torch.no_grad():
        return model(input_ids=tokens, attention_mask=bias).logits


def tensors(model: PreTrainedModel, raw: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Its weights in the layout of the family's files."""
    named = {key: value.contiguous() for key, value in model.state_dict().items() if key != "lm_head.weight" or not tied(raw)}
    return {in_layout(key, raw): value for key, value in named.items() if "o_proj.bias" not in key}


def tied(raw: dict[str, Any]) -> bool:
    return bool(raw.get("tie_word_embeddings") or raw.get("weight_tying"))


def in_layout(key: str, raw: dict[str, Any]) -> str:
    if raw["model_type"] == "llada":
        for old, new in LLAMA_TO_LLADA.items():
            key = key.replace(old, new)
    return key


def write(folder: Path, model: PreTrainedModel, raw: dict[str, Any]) -> Path:
    """A checkpoint folder with this config.json and the model's weights."""
    return write_checkpoint(folder, raw, tensors(model, raw))

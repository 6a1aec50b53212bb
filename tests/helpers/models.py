"""Tiny models: the conformance checkpoints, and configs and weights of loose dimensions made up on the spot."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from lopa_core.model.checkpoint import file_shapes, load
from lopa_core.model.family import parse_config
from lopa_core.model.network import Transformer

CONFORMANCE = Path(__file__).parents[1] / "conformance"
MODELS = CONFORMANCE / "models"

# rope_theta and the eps are far from every default, so that a forgotten one shows
_QWEN2: dict[str, Any] = {
    "model_type": "qwen2", "vocab_size": 61, "hidden_size": 36, "intermediate_size": 44, "num_hidden_layers": 3,
    "num_attention_heads": 6, "num_key_value_heads": 2, "rope_theta": 700.0, "rms_norm_eps": 3e-3, "rope_scaling": None,
    "tie_word_embeddings": False, "max_position_embeddings": 96, "mask_token_id": 60, "eos_token_id": 59,
}  # fmt: skip
_LLADA: dict[str, Any] = {
    "model_type": "llada", "embedding_size": 61, "vocab_size": 61, "d_model": 36, "mlp_hidden_size": 44, "n_layers": 3,
    "n_heads": 6, "n_kv_heads": 2, "rope_theta": 700.0, "rms_norm_eps": 3e-3, "weight_tying": False,
    "include_qkv_bias": False, "max_sequence_length": 96, "mask_token_id": 60, "eos_token_id": 59,
}  # fmt: skip


def dream_config(**changes: Any) -> dict[str, Any]:
    """config.json of a small Dream checkpoint."""
    return _QWEN2 | {"model_type": "Dream"} | changes


def llada_config(**changes: Any) -> dict[str, Any]:
    """config.json of a small LLaDA checkpoint."""
    return _LLADA | changes


def qwen2_config(**changes: Any) -> dict[str, Any]:
    """config.json of a small checkpoint with a Qwen2 body."""
    return _QWEN2 | changes


def qwen3_config(**changes: Any) -> dict[str, Any]:
    """config.json of a small checkpoint with a Qwen3 body; a head is not the hidden size over the heads."""
    return _QWEN2 | {"model_type": "qwen3", "head_dim": 10} | changes


def llama_config(**changes: Any) -> dict[str, Any]:
    """config.json of a small checkpoint with a Llama body."""
    return _QWEN2 | {"model_type": "llama"} | changes


def random_network(raw: dict[str, Any], seed: int = 0, dtype: torch.dtype = torch.float64) -> Transformer:
    """A network of this config.json whose every parameter, norms and biases too, is far from its initial value."""
    generator = torch.Generator().manual_seed(seed)
    network = Transformer(parse_config(raw)).to(dtype)
    with torch.no_grad():
        for name, value in network.named_parameters():
            centre = 1.0 if "norm" in name else 0.0
            value.copy_(centre + 0.3 * torch.randn(value.shape, generator=generator, dtype=dtype))
    return network.eval().requires_grad_(False)


def random_tensors(raw: dict[str, Any], seed: int = 0) -> dict[str, torch.Tensor]:
    """A state dict in the family's own file layout, fp32."""
    generator = torch.Generator().manual_seed(seed)
    shapes = file_shapes(Transformer(parse_config(raw)))
    return {key: 0.3 * torch.randn(shape, generator=generator) + ("norm" in key) for key, shape in shapes.items()}


def write_checkpoint(folder: Path, raw: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Path:
    """config.json and model.safetensors as the Hub has them."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(raw), encoding="utf-8")
    return folder


@cache
def conformance_network(name: str, lora: bool = False, dtype: torch.dtype = torch.float64) -> Transformer:
    """One of the conformance checkpoints, loaded once for the whole run."""
    return load(MODELS / name, adapter=MODELS / f"{name}-lora" if lora else None, dtype=dtype)

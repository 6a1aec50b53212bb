"""Tiny models: the conformance checkpoints, and configs and weights of loose dimensions made up on the spot."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from lopa_core.model.checkpoint import load
from lopa_core.model.family import parse_config
from lopa_core.model.naming import parts
from lopa_core.model.network import Transformer

CONFORMANCE = Path(__file__).parents[1] / "conformance"
MODELS = CONFORMANCE / "models"

# rope_theta and the eps are far from every default, so that a forgotten one shows
_DREAM: dict[str, Any] = {
    "model_type": "Dream", "vocab_size": 61, "hidden_size": 36, "intermediate_size": 44, "num_hidden_layers": 3,
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
    return _DREAM | changes


def llada_config(**changes: Any) -> dict[str, Any]:
    """config.json of a small LLaDA checkpoint."""
    return _LLADA | changes


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
    network = random_network(raw, seed, torch.float32)
    tensors = {}
    for ours, theirs in parts(network.config).items():
        value = network.get_parameter(ours)
        sizes = file_sizes(raw, ours)
        tensors |= dict(zip(theirs, (piece.clone() for piece in value.split(sizes or len(value)))))
    return tensors


def file_sizes(raw: dict[str, Any], ours: str) -> list[int] | None:
    """Rows of q, k, v or gate, up in a fused parameter, from the config's own numbers."""
    heads = raw.get("num_attention_heads") or raw["n_heads"]
    kv_heads = raw.get("num_key_value_heads") or raw["n_kv_heads"]
    head = (raw.get("hidden_size") or raw["d_model"]) // heads
    if ".qkv." in ours:
        return [heads * head, kv_heads * head, kv_heads * head]
    if ".gate_up." in ours:
        return [raw.get("intermediate_size") or raw["mlp_hidden_size"]] * 2
    return None


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

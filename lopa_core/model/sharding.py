"""Tensor parallelism for models that exceed one device: torch's own (Megatron's scheme, arXiv 1909.08053), layer by layer.

Heads and feed-forward features are spread over the ranks of a mesh; each layer then has two all-reduces. The fused
matrices (q, k, v; gate, up) hold several parts one below the other, so their rows are put in order of ranks first.
Norms, those of each head too, are whole on every rank.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from .errors import ModelError
from .family import ModelConfig
from .network import Layer, Transformer


def shard(network: Transformer, mesh: DeviceMesh, device: torch.device) -> None:
    """Spread `network`, in place, over a mesh of one dimension and move it to `device`, one layer at a time.

    Raises ModelError where its heads cannot be divided.
    """
    ranks, config = mesh.size(), network.config
    check_divisible(config, ranks)
    for layer in network.layers:
        shard_layer(layer.to(device), config, mesh)
    network.to(device)
    if not config.tied and config.vocab_size % ranks == 0:
        parallelize_module(network, mesh, {"head": ColwiseParallel(output_layouts=Replicate())})


def check_divisible(config: ModelConfig, ranks: int) -> None:
    """Raises ModelError where a network of this shape cannot be spread over `ranks` devices."""
    if config.encoder and ranks > 1:
        raise ModelError(f"{config.family} cannot be spread over {ranks} devices: give each of them the whole model.")
    for name, count in (("query heads", config.heads), ("key/value heads", config.kv_heads), ("feed-forward features", config.ffn_size)):
        if count % ranks:
            raise ModelError(f"{count} {name} cannot be spread over {ranks} devices: take a number that divides them.")


def shard_layer(layer: Layer, config: ModelConfig, mesh: DeviceMesh) -> None:
    ranks = mesh.size()
    queries, keys = config.heads * config.head_dim, config.kv_heads * config.head_dim
    by_rank(layer.attention.qkv, (queries, keys, keys), ranks)
    by_rank(layer.gate_up, (config.ffn_size, config.ffn_size), ranks)
    plan = {"attention.qkv": ColwiseParallel(), "attention.out": RowwiseParallel(), "gate_up": ColwiseParallel(), "down": RowwiseParallel()}
    parallelize_module(layer, mesh, plan)
    layer.attention.heads //= ranks
    layer.attention.kv_heads //= ranks


@torch.no_grad()
def by_rank(linear: nn.Linear, parts: tuple[int, ...], ranks: int) -> None:
    """Reorder the rows of a fused matrix so that an even cut gives each rank its share of every part."""
    order = torch.cat([piece.chunk(ranks)[rank] for rank in range(ranks) for piece in torch.arange(sum(parts)).split(parts)])

    def reordered(value: Tensor) -> Tensor:
        return value[order.to(value.device)].contiguous()

    linear.weight.copy_(reordered(linear.weight))
    if linear.bias is not None:
        linear.bias.copy_(reordered(linear.bias))

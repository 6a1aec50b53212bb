"""Weights in the order that the CPU's matrix product reads them, laid out once instead of in every product.

A round of a small network multiplies each weight by some forty tokens only, so that reordering it first, which oneDNN
and MKL do in every call, takes a quarter of the time. Results are those of the plain product up to the order of sums.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .network import Transformer

USUAL = 40  # rows of a product that the order suits best; any number can be multiplied
LARGEST = 100_000_000  # parameters: the weights are held twice, and a larger network waits for memory, not for this


class Prepacked(nn.Linear):
    """A linear layer that keeps a second, reordered copy of its weight, for the CPU. Its parameters are the layer's own."""

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self.packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), USUAL)

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu" or torch.is_grad_enabled():
            return super().forward(x)
        return torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "none", [], "")


def prepacked(network: nn.Module) -> bool:
    """Whether `prepack` has changed it."""
    return any(isinstance(part, Prepacked) for part in network.modules())


def reorders(dtype: torch.dtype) -> bool:
    """Whether this CPU's library can lay out weights of `dtype`: in bf16 only a newer CPU's."""
    return dtype == torch.float32 or (dtype == torch.bfloat16 and torch.ops.mkldnn._is_mkldnn_bf16_supported())


def prepack(network: nn.Module) -> None:
    """Lay out a network's matrices, in place, where that pays: our transformer, small, on a CPU that has oneDNN, in fp32 or bf16.

    The weights must not change any more.
    """
    if not isinstance(network, Transformer) or network.device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return
    if not all(hasattr(torch.ops.mkldnn, name) for name in ("_linear_pointwise", "_is_mkldnn_bf16_supported")):
        return  # not part of torch's public interface: another release may do without
    small = sum(weight.numel() for weight in network.parameters()) <= LARGEST
    if small and reorders(network.dtype):
        owners = [(owner, name, part) for owner in network.modules() for name, part in owner.named_children() if type(part) is nn.Linear]
        for owner, name, linear in owners:
            setattr(owner, name, Prepacked(linear))

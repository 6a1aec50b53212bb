"""A checksum of every tensor of a network, over its raw bytes, computed where the tensor is.

Ranks that share a decode compare them (runtime/joining.py), so equal bytes give equal sums on every device. Integer
arithmetic only: exact everywhere, and a few passes over the weights. It finds accidents, not forgeries.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WORDS = 2**17  # of eight bytes, taken at a time
SALT, FACTOR = -0x61C8864680B583EB, -0x40A7B892E31B1A47  # odd: multiplying by them loses no bit


def fingerprint(network: nn.Module) -> dict[str, str]:
    """By name, "dtype shape checksum" of each parameter and buffer; one that is shared counts once."""
    tensors = dict(network.named_parameters()) | dict(network.named_buffers())
    return {name: f"{str(each.dtype).removeprefix('torch.')} {list(each.shape)} {checksum(each):016x}" for name, each in tensors.items()}


@torch.no_grad()
def checksum(tensor: Tensor) -> int:
    """64 bits of a tensor's bytes and their order."""
    data = tensor.detach().contiguous().flatten().view(torch.uint8)
    data = F.pad(data, (0, -len(data) % 8)) if len(data) % 8 else data
    if data.storage_offset() % 8:
        data = data.clone()
    words = data.view(torch.int64)
    salts = torch.arange(1, min(WORDS, len(words)) + 1, device=data.device) * SALT
    sums = [mixed(piece, salts[: len(piece)]) for piece in words.split(WORDS)]
    total = tensor.numel()
    for each in torch.stack(sums).tolist() if total else ():
        total = (total * FACTOR + each) % 2**64
    return total


def mixed(words: Tensor, salts: Tensor) -> Tensor:
    """The sum of words [n] that are each stirred with their place: a plain sum would not see two signs change."""
    words = words ^ salts
    words ^= words >> 32 & 0xFFFFFFFF  # a shift of signed numbers copies the sign
    words *= FACTOR
    words ^= words >> 29 & 0x7FFFFFFFF
    return words.sum()

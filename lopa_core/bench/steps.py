"""A step of the decode loop on random weights of a known shape, against what the device can do at most.

The limits are measured in the same run: bytes/s of a large copy, FLOP/s of a large matrix product. A step cannot be
faster than its bytes or its arithmetic at these rates (the roofline model).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..decode.settings import DecodeSettings
from ..decode.window import Window
from ..model.family import ModelConfig
from ..model.network import Transformer
from ..runtime.local import LocalEngine

_DREAM = {"family": "dream", "qkv_bias": True, "tied": False, "shifted": True, "rope_theta": 1e6, "norm_eps": 1e-6, "max_positions": 4096}
_LLADA = {"family": "llada", "qkv_bias": False, "tied": False, "shifted": False, "rope_theta": 5e5, "norm_eps": 1e-5, "max_positions": 4096}
# sizes as in the checkpoints' config.json; the special tokens play no part here
SHAPES: dict[str, dict[str, object]] = {
    "dream-7b": _DREAM | {"vocab_size": 152064, "hidden_size": 3584, "ffn_size": 18944, "layers": 28, "heads": 28, "kv_heads": 4},
    "llada-8b": _LLADA | {"vocab_size": 126464, "hidden_size": 4096, "ffn_size": 12288, "layers": 32, "heads": 32, "kv_heads": 32},
    "small": _DREAM | {"vocab_size": 8192, "hidden_size": 512, "ffn_size": 2048, "layers": 4, "heads": 8, "kv_heads": 2},
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What the device reached here: bytes per second and floating-point operations per second."""

    bytes_per_second: float
    flops: float


@dataclass(frozen=True, slots=True)
class StepTime:
    """One forward of `rows` branches over `window` slots, all masked, behind `prefix` cached ones. seconds: median."""

    rows: int
    window: int
    seconds: float
    network_seconds: float
    bytes_moved: float
    operations: float

    def floor(self, limits: Limits) -> float:
        """Seconds below which this step cannot go."""
        return max(self.bytes_moved / limits.bytes_per_second, self.operations / limits.flops)

    @property
    def host_share(self) -> float:
        """Share of the step outside the network: records, the copy to the host, the host's own part."""
        return 1 - self.network_seconds / self.seconds


def shape(name: str, layers: int | None = None) -> ModelConfig:
    """The configuration of a shape, with fewer layers if asked."""
    sizes = SHAPES[name]
    head_dim = sizes["hidden_size"] // sizes["heads"]
    return ModelConfig(**sizes | {"layers": layers or sizes["layers"], "head_dim": head_dim, "mask_id": 1, "eos_id": 0})


def random_network(config: ModelConfig, device: torch.device, dtype: torch.dtype) -> Transformer:
    """Weights without training: the time of a step does not depend on them."""
    with torch.device("meta"):
        network = Transformer(config)
    network = network.to(dtype).to_empty(device=device).eval()
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.02)
    return network


def time_steps(network: Transformer, rows: Sequence[int], windows: Sequence[int], prefix: int, repeats: int) -> Iterator[StepTime]:
    """Every combination, one after the other."""
    for width in windows:
        for count in rows:
            yield time_step(network, count, width, prefix, repeats)


def time_step(network: Transformer, rows: int, width: int, prefix: int, repeats: int) -> StepTime:
    engine, settings = LocalEngine(network), DecodeSettings(max_new_tokens=width, block_size=width, lookahead=max(0, rows - 1))
    engine.open(rows, prefix + width, settings)
    for kept in (engine.space.cache.keys, engine.space.cache.values):
        kept.normal_()  # a prefix of anything: what it holds takes no time
    window = masked_window(rows, width, prefix, network.config)
    for _ in range(3):
        engine.forward(window)
    times = []
    for _ in range(repeats):
        network_before, began = engine.seconds_in_network, time.perf_counter()
        engine.forward(window)
        times.append((time.perf_counter() - began, engine.seconds_in_network - network_before))
    seconds, inside = sorted(times)[len(times) // 2]
    return StepTime(rows, width, seconds, inside, *cost(network, rows, width, prefix))


def masked_window(rows: int, width: int, prefix: int, config: ModelConfig) -> Window:
    """A block of masks in every row, all of them asked for."""
    tokens = np.full((rows, width), config.mask_id)
    columns = np.tile(np.arange(width), (rows, 1))
    ends = np.full(rows, prefix + width)
    return Window(tokens, prefix, ends, columns, np.arange(rows * width), None, prefix, width)


def cost(network: Transformer, rows: int, width: int, prefix: int) -> tuple[float, float]:
    """(bytes, operations) a step needs at least: weights once, keys and values seen, two operations a weight and token."""
    config = network.config
    read = [weight for name, weight in network.named_parameters() if name != "embed.weight" or config.tied]
    weights = sum(weight.numel() for weight in read)
    size = network.dtype.itemsize
    cached = 2 * config.layers * config.kv_heads * config.head_dim * rows * (prefix + width)
    attention = 4 * config.layers * config.heads * config.head_dim * rows * width * (prefix + width)
    return (weights + cached) * size, 2 * weights * rows * width + attention


def measure_limits(device: torch.device, dtype: torch.dtype) -> Limits:
    """Of this device in this run."""
    big = 2**28 if device.type == "cuda" else 2**24
    side = 8192 if device.type == "cuda" else 1024
    source, target = torch.ones(big, dtype=dtype, device=device), torch.empty(big, dtype=dtype, device=device)
    left = torch.randn(side, side, dtype=dtype, device=device)
    copied = best(lambda: target.copy_(source), device)
    multiplied = best(lambda: left @ left, device)
    return Limits(2 * big * source.element_size() / copied, 2 * side**3 / multiplied)


def best(act: Callable[[], object], device: torch.device, times: int = 10) -> float:
    """Least seconds of several tries."""

    def once() -> float:
        began = time.perf_counter()
        act()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - began

    once()
    return min(once() for _ in range(times))

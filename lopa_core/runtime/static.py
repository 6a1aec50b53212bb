"""One forward in fixed shapes on fixed addresses: what a CUDA graph can replay.

A window is padded to one of a few sizes, everything that changes from round to round comes in one buffer, and masks
and positions are worked out on the device. The answers are those of the plain forward.

Shapes: B rows, W window columns, M columns asked for, S cached slots that are looked at, as in model/network.py.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..decode.observation import observe
from ..decode.settings import DecodeSettings
from ..decode.window import Window
from ..model.cache import Cache
from ..model.network import Transformer, attention_bias, pick_rows

WIDTHS = (8, 16, 32, 48, 64, 96, 128, 192, 256)  # of a window; wider ones are multiples of the last
GRAIN = 256  # cached slots are looked at in multiples of this
NUMBERS = 3  # start, prompt, block size


@dataclass(frozen=True, slots=True)
class Shape:
    """What a step is made for: sizes, and the settings that change its arithmetic. forbidden: the id never predicted."""

    rows: int
    width: int
    asked: int
    seen: int
    attention: str
    confidence: str
    temperature: float
    forbidden: int | None

    @classmethod
    def of(cls, window: Window, settings: DecodeSettings, forbidden: int | None) -> Shape:
        rows, width = window.tokens.shape
        wide = padded(width)
        chosen = (settings.attention, settings.confidence, settings.temperature, forbidden)
        return cls(rows, wide, padded(window.columns.shape[1]), looked_at(window.start + wide), *chosen)


class StaticStep:
    """The forward of one shape on a network and its cache, whose memory must stay where it is and hold no NaN."""

    def __init__(self, network: Transformer, cache: Cache, shape: Shape) -> None:
        self.network, self.cache, self.shape = network, cache, shape
        pinned = network.device.type == "cuda"
        sizes = (NUMBERS, shape.rows, shape.rows * shape.width, 2 * shape.rows * shape.asked, shape.rows * shape.asked)
        self.bounds = np.cumsum((0, *sizes)).tolist()
        self.host = torch.zeros(self.bounds[-1], dtype=torch.int64, pin_memory=pinned)
        self.inputs = self.host.to(network.device) if pinned else self.host
        self.records = torch.zeros(3, shape.rows * shape.asked, device=self.inputs.device)

    def load(self, window: Window) -> Tensor:
        """Put a window into the buffer, in one copy; returns the queries [n] on the device."""
        numbers, ends, tokens, columns, draws = self.parts(self.host.numpy())
        rows, width = window.tokens.shape
        numbers[:] = window.start, window.prompt, window.block_size
        ends[:] = window.ends
        grid = tokens.reshape(rows, -1)
        grid[:, :width], grid[:, width:] = window.tokens, 0
        asked = window.columns.shape[1]
        wanted, queries = columns[: rows * self.shape.asked].reshape(rows, -1), columns[rows * self.shape.asked :]
        wanted[:, :asked], wanted[:, asked:] = window.columns, 0
        # a query is a place in [B, M], and M has grown
        row, place = np.divmod(window.queries, asked)
        queries[: len(place)] = row * self.shape.asked + place
        if window.uniforms is not None:
            draws.view(np.float32)[queries[: len(place)]] = window.uniforms
        if self.inputs is not self.host:
            self.inputs.copy_(self.host, non_blocking=True)
        return self.parts(self.inputs)[3][rows * self.shape.asked :][: len(place)]

    def parts(self, buffer: Tensor | np.ndarray) -> list[Tensor | np.ndarray]:
        """Numbers, ends, tokens, columns with queries, draws."""
        return [buffer[low:high] for low, high in zip(self.bounds, self.bounds[1:])]

    def run(self) -> None:
        """Compute `records` [3, B * M] from what is in the buffer. Nothing here depends on its contents but the numbers."""
        shape, network = self.shape, self.network
        numbers, ends, tokens, columns, draws = self.parts(self.inputs)
        start, prompt, block_size = numbers
        columns = columns[: shape.rows * shape.asked].view(shape.rows, -1)
        slots = start + torch.arange(shape.width, device=ends.device)
        mask = self.visible(slots, ends, prompt, block_size)
        hidden = self.forward(tokens.view(shape.rows, -1), slots, mask, columns)
        logits = network.head(hidden.flatten(0, 1))
        uniforms = draws.view(torch.float32)[: len(logits)] if shape.temperature else None
        chosen = {"confidence": shape.confidence, "forbidden": shape.forbidden, "temperature": shape.temperature}
        self.records.copy_(observe(logits, uniforms=uniforms, **chosen))

    def visible(self, slots: Tensor, ends: Tensor, prompt: Tensor, block_size: Tensor) -> Tensor:
        """[B or 1, 1, W or 1, S]: what each column sees of prefix and window, as engines' masks say (model/mask.py)."""
        seen = torch.arange(self.shape.seen, device=ends.device)
        if self.shape.attention == "full":
            return (seen < ends[:, None])[:, None, None]
        blocks = [torch.where(each < prompt, -1, (each - prompt).div(block_size, rounding_mode="floor")) for each in (slots, seen)]
        return (blocks[0][:, None] >= blocks[1][None, :])[None, None]

    def forward(self, tokens: Tensor, slots: Tensor, mask: Tensor, columns: Tensor) -> Tensor:
        """Hidden rows [B, M, hidden] at `columns`, as Transformer.forward computes them."""
        network, config = self.network, self.network.config
        x = network.embed(tokens)
        cos, sin = network.rope(slice(0, config.max_positions), x.device, x.dtype)
        places = slots.clamp(max=config.max_positions - 1)  # of padding behind the last position: nobody sees it
        rope = cos.index_select(0, places), sin.index_select(0, places)
        bias = attention_bias(mask, config, x.dtype)
        stores = [self.store(index, slots) for index in range(len(network.layers))]
        for layer, store in zip(network.layers[:-1], stores):
            x = layer(x, rope, bias, store)
        last = attention_bias(pick_rows(mask, columns), config, x.dtype)
        return network.norm(network.layers[-1](x, rope, last, stores[-1], columns))

    def store(self, index: int, slots: Tensor):
        """As Cache.layer, for slots known to the device only."""

        def store(k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
            kept = [each[index, : self.shape.rows] for each in (self.cache.keys, self.cache.values)]
            for whole, part in zip(kept, (k, v)):
                whole.index_copy_(2, slots, part)
            return tuple(whole[:, :, : self.shape.seen] for whole in kept)

        return store


def padded(width: int) -> int:
    """The next of the few sizes of a window."""
    if width > WIDTHS[-1]:
        return -(-width // WIDTHS[-1]) * WIDTHS[-1]
    return WIDTHS[bisect_left(WIDTHS, width)]


def looked_at(slots: int) -> int:
    return -(-slots // GRAIN) * GRAIN


def room(length: int) -> int:
    """Slots a cache needs so that every window of a decode of `length` slots can be padded."""
    return looked_at(length + padded(length))

"""The in-process engine: all branches of a round as rows of one batched forward on one device."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ..decode.observation import Credit, Observation, observe
from ..decode.rules.registry import columns
from ..decode.settings import DecodeSettings
from ..decode.window import Window
from ..model.cache import Cache
from ..model.errors import ModelError
from ..model.mask import block_causal_mask, padding_mask
from ..model.network import Transformer
from ..trace.trace import TraceSpan
from .copies import superposed
from .device import describe
from .remembered import Distributions


class LocalEngine:
    """Runs windows on one network. Keeps its cache between decodes while it is large enough.

    seconds_in_network and seconds_observing add up since `open`: the transformer with its head, and turning logits
    into records, synchronised with the device. spans: when the last forward's rows were worked on, on time.perf_counter.
    """

    def __init__(self, network: Transformer) -> None:
        self.network, self.config = network, network.config
        self.device, self.dtype = network.embed.weight.device, network.embed.weight.dtype
        self.devices = (describe(self.device),)
        self.spans: list[TraceSpan] = []
        self.cache: Cache | None = None
        self.room = (0, 0)

    def open(self, rows: int, length: int, settings: DecodeSettings) -> None:
        if rows > self.room[0] or length > self.room[1]:
            self.room = (max(rows, self.room[0]), max(length, self.room[1]))
            kept = {"device": self.device, "dtype": self.dtype, "kv_heads": self.network.kv_heads}
            self.cache = Cache(self.config, rows=self.room[0], length=self.room[1], **kept)
        self.rows, self.settings, self.columns = rows, settings, columns(settings)
        self.distributions = Distributions()
        self.forbidden = None if settings.allow_mask_token else self.config.mask_id
        self.seconds_in_network = self.seconds_observing = 0.0

    def forward(self, window: Window) -> Observation:
        return self.told(self.records(window).cpu().numpy())

    def told(self, records: np.ndarray) -> Observation:
        """Records of any device as an observation. Raises ModelError where they are not numbers."""
        if not np.isfinite(records).all():
            raise ModelError(f"The network's output is not a number in {str(self.dtype).removeprefix('torch.')}: take a wider --dtype.")
        return Observation.unpack(records, self.columns)

    @torch.inference_mode()
    def records(self, window: Window) -> Tensor:
        """The records [3 + columns, n] of a window, fp32, on the device that ran it."""
        began = self.now()
        tokens = torch.from_numpy(window.tokens).to(self.device)
        columns = torch.from_numpy(window.columns).to(self.device)
        queries = torch.from_numpy(window.queries).to(self.device)
        mask, positions, self.cache.kept = self.mask(window), None, window.kept
        if window.copies:
            tokens, positions, mask = superposed(window, tokens, mask, self.settings.attention == "block_causal")
        hidden = self.network(tokens, start=window.start, mask=mask, cache=self.cache, columns=columns, positions=positions)
        logits = self.network.head(hidden.flatten(0, 1)[queries])
        ran = self.now()
        uniforms = None if window.uniforms is None else torch.from_numpy(window.uniforms).to(self.device)
        chosen = self.settings
        records = observe(
            logits, confidence=chosen.confidence, forbidden=self.forbidden, temperature=chosen.temperature, uniforms=uniforms,
            columns=self.columns, credit=self.credit(window), divergence=self.divergence(window, queries),
            targets=None if window.targets is None else torch.from_numpy(window.targets).to(self.device),
        )  # fmt: skip
        over = self.now()
        self.seconds_in_network += ran - began
        self.seconds_observing += over - ran
        self.spans = [TraceSpan(0, tuple(range(len(window.tokens))), began, over)]
        return records

    def credit(self, window: Window) -> Credit | None:
        if window.credit is None:
            return None
        tokens, credit = (torch.from_numpy(each).to(self.device) for each in (window.credit_tokens, window.credit))
        return Credit(tokens, credit, self.settings.credit_alpha, self.settings.credit_gamma)

    def divergence(self, window: Window, queries: Tensor) -> Callable[[Tensor], Tensor] | None:
        """What compares distributions at the queries with those that were kept; None unless a rule asks."""
        if "divergences" not in self.columns:
            return None
        self.asked = queries, window.columns.shape[1]
        slots = torch.from_numpy(window.columns.flat[window.queries]).to(self.device) + window.start + self.config.shifted
        return lambda shares: self.distributions.divergence(shares, slots)

    @torch.inference_mode()
    def keep(self, row: int) -> None:
        queries, width = self.asked
        self.distributions.keep(torch.nonzero(queries // width == row).squeeze(1))

    def commit(self, row: int, start: int, end: int) -> None:
        self.cache.commit(row, start, end, self.rows)

    def mask(self, window: Window) -> Tensor | None:
        """What each row may see; None where every row sees all of its prefix and window."""
        end = window.start + window.tokens.shape[1]
        if self.settings.attention == "block_causal":
            one_block = window.start >= window.prompt and end - window.start <= window.block_size
            return None if one_block else block_causal_mask(window.start, end, window.prompt, window.block_size, self.device)
        if window.even:
            return None
        return padding_mask(torch.from_numpy(window.ends).to(self.device), end)

    def now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()

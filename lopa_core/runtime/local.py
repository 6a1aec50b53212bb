"""The in-process engine: all branches of a round in one forward on one device, as rows of a batch or packed into one row."""

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
from ..model.errors import ModelError
from ..model.interface import Network, Prefix
from ..model.mask import block_causal_mask, padding_mask
from ..model.network import Transformer
from ..trace.trace import TraceSpan
from .copies import superposed
from .device import describe
from .graphs import Graphs
from .packed import Packed, pack, packs
from .packed import room as packed_room
from .remembered import Distributions
from .static import room


class LocalEngine:
    """Runs windows on one network. Keeps its cache between decodes while it is large enough.

    spare: where it takes its workspace from and leaves it, shared by the engines of a network. static: whether forwards run
    in a few fixed shapes, as CUDA graphs where there is CUDA (runtime/graphs.py); None: there only.
    seconds_in_network and seconds_observing add up since `open`: the transformer with its head, and turning logits
    into records (part of the former in a graph). spans: when the last forward's rows were worked on, on time.perf_counter.
    """

    def __init__(self, network: Network, static: bool | None = None, spare: list[Workspace] | None = None) -> None:
        self.network, self.config = network, network.config
        self.device, self.dtype = network.device, network.dtype
        self.static = isinstance(network, Transformer) and (self.device.type == "cuda" if static is None else static)
        self.devices, self.clock = (describe(self.device),), None
        self.spans: list[TraceSpan] = []
        self.seconds_in_network = self.seconds_observing = 0.0
        self.spare = [] if spare is None else spare
        self.space: Workspace | None = None

    def open(self, rows: int, length: int, settings: DecodeSettings) -> None:
        if self.space is None:
            self.space = self.spare.pop() if self.spare else Workspace()
        self.packs = packs(settings) and (not self.static or settings.reach == "masks")
        if self.packs:
            rows, length = 1, packed_room(rows, length, settings)
        self.space.make_room(self.network, rows, length, self.static)
        self.rows, self.settings, self.columns = rows, settings, columns(settings)
        self.distributions = Distributions()
        self.forbidden = None if settings.allow_mask_token else self.config.mask_id
        self.seconds_in_network = self.seconds_observing = 0.0

    def close(self) -> None:
        """Leave the workspace to the next engine."""
        if self.space:
            self.spare.append(self.space)
            self.space = None

    def forward(self, window: Window) -> Observation:
        return self.told(self.records(window).cpu().numpy())

    def told(self, records: np.ndarray) -> Observation:
        """Records of any device as an observation. Raises ModelError where they are not numbers."""
        if not np.isfinite(records).all():
            raise ModelError(f"The network's output is not a number in {str(self.dtype).removeprefix('torch.')}: take a wider --dtype.")
        return Observation.unpack(records, self.columns)

    @torch.inference_mode()
    def records(self, window: Window) -> Tensor:
        """The records [3 + columns, n] of a window, fp32, on the device that ran it, which is through with them."""
        watch = Stopwatch(self.device)
        if self.space.graphs and plain(window) and not self.columns and not self.packs:
            records = self.space.graphs.records(window, self.settings, self.forbidden)
            watch.mark()
        else:
            packed = pack(window) if self.packs and len(window.tokens) > 1 else None
            asked = packed.window if packed else window
            queries = torch.from_numpy(asked.queries).to(self.device)
            logits = self.logits(asked, queries, packed)
            watch.mark()
            records = self.observed(asked, queries, logits)
            if packed:
                records = records[:, torch.from_numpy(packed.back).to(self.device)]
        in_network, observing = watch.stop()
        self.seconds_in_network += in_network
        self.seconds_observing += observing
        self.spans = [TraceSpan(0, tuple(range(len(window.tokens))), watch.began, watch.ended)]
        return records

    def logits(self, window: Window, queries: Tensor, packed: Packed | None) -> Tensor:
        """[n, vocabulary], one row per query of a window, or of a packed one's."""
        tokens = torch.from_numpy(window.tokens).to(self.device)
        asked, cache = torch.from_numpy(window.columns).to(self.device), self.space.cache
        mask, positions, cache.kept = None, None, window.kept
        if packed:
            mask, positions = (torch.from_numpy(each).to(self.device) for each in (packed.mask, packed.slots))
        else:
            mask = self.mask(window)
        if window.copies:
            tokens, positions, mask = superposed(window, tokens, mask, self.settings.attention == "block_causal")
        hidden = self.network(tokens, start=window.start, mask=mask, cache=cache, columns=asked, positions=positions)
        return self.network.head(hidden.flatten(0, 1)[queries])

    def observed(self, window: Window, queries: Tensor, logits: Tensor) -> Tensor:
        """The records of `logits`."""
        uniforms, targets = (None if each is None else torch.from_numpy(each).to(self.device) for each in (window.uniforms, window.targets))
        return observe(
            logits, confidence=self.settings.confidence, forbidden=self.forbidden, temperature=self.settings.temperature,
            uniforms=uniforms, columns=self.columns, credit=self.credit(window), divergence=self.divergence(window, queries),
            targets=targets,
        )  # fmt: skip

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
        self.space.cache.commit(row, start, end, self.rows)

    def mask(self, window: Window) -> Tensor | None:
        """What each row may see; None where every row sees all of its prefix and window."""
        end = window.start + window.tokens.shape[1]
        if self.settings.attention == "block_causal":
            one_block = window.start >= window.prompt and end - window.start <= window.block_size
            return None if one_block else block_causal_mask(window.start, end, window.prompt, window.block_size, self.device)
        if window.even:
            return None
        return padding_mask(torch.from_numpy(window.ends).to(self.device), end)


def plain(window: Window) -> bool:
    """Whether a forward of fixed shape can answer it: no copies, no credit, no targets, nothing kept behind it."""
    return window.copies is None and window.credit is None and window.targets is None and not window.kept


class Workspace:
    """What is worth keeping between decodes: a cache, and the graphs that were captured with it."""

    def __init__(self) -> None:
        self.cache: Prefix | None = None
        self.graphs: Graphs | None = None
        self.room = (0, 0)

    def make_room(self, network: Network, rows: int, length: int, static: bool) -> None:
        """For `rows` branches of `length` slots."""
        if rows <= self.room[0] and length <= self.room[1]:
            return
        kept = max(rows, self.room[0]), max(length, self.room[1])
        self.cache, self.graphs, self.room = None, None, (0, 0)  # the old memory is needed for the new
        self.cache = network.new_cache(kept[0], room(kept[1]) if static else kept[1])
        self.graphs = Graphs(network, self.cache) if static else None
        self.room = kept


class Stopwatch:
    """Two laps of work on a device, in seconds. A GPU is waited for once, at the end; its own events tell the laps.

    began, ended: on time.perf_counter.
    """

    def __init__(self, device: torch.device) -> None:
        self.device, self.began, self.marks = device, time.perf_counter(), []
        self.mark()

    def mark(self) -> None:
        """The end of a lap."""
        if self.device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self.marks.append(event)
        else:
            self.marks.append(time.perf_counter())

    def stop(self) -> tuple[float, float]:
        self.mark()
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        self.ended = time.perf_counter()
        first, lap, last = self.marks
        if self.device.type == "cuda":
            return first.elapsed_time(lap) / 1000, lap.elapsed_time(last) / 1000
        return lap - first, last - lap

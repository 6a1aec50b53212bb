"""Branch parallelism: the branches of one prompt over the ranks of a process group (LoPA-Dist, arXiv 2512.16229, 4.1).

Every rank holds the whole network and the whole state, runs the same decode loop, and in each round the forward of
its own share of the branches. One all-gather makes the records of all branches known to all ranks; what follows is
the same pure code on the same bytes everywhere, so no rank is the others' master.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from ..decode.observation import Observation
from ..decode.rules.registry import columns
from ..decode.settings import DecodeSettings, SettingsError
from ..decode.window import PER_QUERY, Window
from ..trace.trace import TraceSpan
from . import packet
from .joining import differences
from .local import LocalEngine
from .packet import Header


class Cancelled(Exception):
    """The run was told to stop; raised on all ranks in the same round."""


class RankFailed(RuntimeError):
    """Another rank could not run its branches, or has drifted from this one; raised on all ranks in the same round."""


class OutOfStep(Exception):
    """This rank failed where it could not tell the others, who wait for it in a collective: its process has to end."""


@contextmanager
def in_step() -> Iterator[None]:
    """Around what all ranks have to get through together."""
    try:
        yield
    except RuntimeError as error:
        raise OutOfStep(str(error)) from error


class ParallelEngine:
    """An Engine whose rows are spread over the ranks of a group. One per rank, used in step.

    local: runs this rank's rows. cancelled: asked once a round; any rank may answer True. devices: names of all ranks' devices, by rank.
    tensor: ranks that share one copy of the network (model/sharding.py), a team; a team's ranks follow each other, run
    the same branches, and the first of them tells their records. peers: the ranks with this rank's part of the network.
    bytes_sent adds up what this rank has sent for records, bytes_committed what it has for keys and values.
    """

    def __init__(
        self, local: LocalEngine, group: dist.ProcessGroup, devices: tuple[str, ...], cancelled: Callable[[], bool] = lambda: False,
        *, tensor: int = 1, peers: dist.ProcessGroup | None = None,
    ) -> None:  # fmt: skip
        self.local, self.config, self.group, self.peers = local, local.config, group, peers or group
        self.rank, self.ranks, self.tensor = dist.get_rank(group), dist.get_world_size(group), tensor
        self.team, self.leads = self.rank // tensor, self.rank % tensor == 0
        self.devices, self.cancelled = devices, cancelled
        self.bytes_sent = self.bytes_committed = 0
        self.clock = self.seconds_in_network = 0.0
        self.spans: list[TraceSpan] = []
        self.unopened: Exception | None = None

    def open(self, rows: int, length: int, settings: DecodeSettings) -> None:
        """An error in it, such as no room for the cache, is told in the first round, when the others listen.

        Raises SettingsError, on all ranks, where a rule needs the winner's distributions and other ranks may have them.
        """
        if "divergences" in columns(settings) and rows > 1 and self.ranks > self.tensor:
            raise SettingsError(f"Selection {settings.selection} with lookahead branches needs all of them on one device: take --ranks 0.")
        self.settings, self.clock = settings, 0.0
        self.width = packet.PLAIN + len(columns(settings))
        self.seconds_in_network = 0.0
        share = -(-rows // (self.ranks // self.tensor))
        self.size = packet.room([min(share * settings.slots, packet.MOST)], self.width)
        self.come_to_terms(rows, length)
        try:
            self.local.open(min(rows, share + (settings.reach == "masks")), length, settings)
            self.unopened = None
        except Exception as error:
            self.unopened = error

    def come_to_terms(self, rows: int, length: int) -> None:
        """Compare what size and meaning of all that crosses follow from. Raises RankFailed, on all ranks, where it differs."""
        config, asked = (f"{zlib.crc32(repr(each).encode()):08x}" for each in (self.config, (rows, length, self.settings)))
        dtype = str(self.local.dtype).removeprefix("torch.")
        terms = {"dtype": dtype, "config.json": config, "request": asked, "--tensor": str(self.tensor)}
        everybodys = self.gather(torch.from_numpy(packet.write_terms(terms)))
        differs = differences([packet.read_terms(each) for each in everybodys], [f"rank {rank}" for rank in range(self.ranks)])
        if differs:
            raise RankFailed(differs)

    def close(self) -> None:
        self.local.close()

    def forward(self, window: Window) -> Observation:
        began = time.perf_counter()
        self.teams = split(len(window.tokens), self.ranks // self.tensor)
        parts = [between(window, low, high) for low, high in self.teams]
        counts = [
            0 if rank % self.tensor else parts[rank // self.tensor].stop - parts[rank // self.tensor].start for rank in range(self.ranks)
        ]
        whole = packet.HEADER.size + 4 * self.width * max(counts)
        mine, error = self.run(window, max(whole, self.size), began)
        packets = self.gather(mine[: self.size])
        headers = [packet.read(each, 0)[0] for each in packets]
        self.agree(headers, error)
        if whole > self.size:
            packets = np.concatenate((packets, self.gather(mine[self.size :])), axis=1)
        self.measure(headers, began)
        records = [packet.read(each, count, self.width)[1] for each, count in zip(packets, counts)]
        return self.local.told(np.concatenate(records, axis=1))

    def run(self, window: Window, size: int, began: float) -> tuple[Tensor, Exception | None]:
        """This rank's packet, on its device; and the error if its forward failed: the others must hear of that first."""
        told = packet.checksum(window)
        low, high = self.teams[self.team]
        try:
            if self.unopened:
                raise self.unopened
            records = self.local.records(cut(window, low, high)) if high > low else None
            self.check(records, between(window, low, high))
        except Exception as error:
            return self.packed(Header(packet.FAILED, self.cancelled(), told), None, size), error
        span = self.local.spans[0] if records is not None else TraceSpan(0, (), began, began)
        header = Header(packet.FINE, self.cancelled(), told, span.start - began, span.end - began)
        return self.packed(header, records if self.leads else None, size), None

    def check(self, records: Tensor | None, asked: slice) -> None:
        """Raise RuntimeError where the others would read something else from these bytes."""
        wanted = (self.width, asked.stop - asked.start)
        if records is not None and (records.dtype != torch.float32 or records.shape != wanted):
            raise RuntimeError(f"The records are {list(records.shape)} in {records.dtype}, not {list(wanted)} in torch.float32.")

    @in_step()
    def packed(self, header: Header, records: Tensor | None, size: int) -> Tensor:
        whole = torch.from_numpy(packet.write(header, size)).to(self.local.device)
        if records is not None:
            data = records.contiguous().view(torch.uint8).flatten()
            whole[packet.HEADER.size : packet.HEADER.size + len(data)] = data
        return whole

    @in_step()
    def gather(self, mine: Tensor) -> np.ndarray:
        """[ranks, bytes] of a tensor of bytes that is of the same size on all ranks: a round's one collective, and its one copy
        from the device."""
        mine = mine.to(self.local.device)
        everybodys = torch.empty(self.ranks, len(mine), dtype=torch.uint8, device=mine.device)
        dist.all_gather(list(everybodys), mine, group=self.group)
        self.bytes_sent += len(mine)
        return everybodys.cpu().numpy()

    def agree(self, headers: list[Header], error: Exception | None) -> None:
        """Raise on all ranks what happened on any of them."""
        if error:
            raise error
        failed = [rank for rank, header in enumerate(headers) if header.status != packet.FINE]
        if failed:
            raise RankFailed(f"rank {failed[0]} failed")
        if len({header.checksum for header in headers}) > 1:
            raise RankFailed("the ranks have drifted apart: their windows differ")
        if any(header.cancel for header in headers):
            raise Cancelled

    def measure(self, headers: list[Header], began: float) -> None:
        """Who ran what when. The ranks left the last exchange together, so their rounds have a common beginning."""
        self.spans = [
            TraceSpan(rank, tuple(range(low, high)), began + header.began, began + header.ended)
            for rank, header in enumerate(headers)
            for low, high in [self.teams[rank // self.tensor]]
            if high > low
        ]
        slowest = max(header.ended for header in headers)
        self.seconds_in_network += slowest
        self.clock += slowest  # the same on all ranks, unlike their own clocks

    def keep(self, row: int) -> None:
        """Only where all branches are one team's."""
        low, high = self.teams[self.team]
        if low <= row < high:
            self.local.keep(row - low)

    @in_step()
    @torch.inference_mode()
    def commit(self, row: int, start: int, end: int) -> None:
        """The winner's keys and values become the prefix of all rows of all ranks, by one flat broadcast.

        Under block-causal attention they do not depend on the branch: each rank takes its own first row's, unless
        some team had no branch in this round and so computed none.
        """
        cache, rows = self.local.space.cache, self.local.rows
        causal = self.settings.attention == "block_causal"
        if causal and all(high > low for low, high in self.teams):
            cache.commit(0, start, end, rows)
            return
        owner = next(team for team, (low, high) in enumerate(self.teams) if low <= row < high)
        span = cache.span(0 if causal or owner != self.team else row - self.teams[owner][0], start, end)
        dist.broadcast(span, group=self.peers, group_src=owner)
        if owner == self.team:
            self.bytes_committed += span.numel() * span.element_size()
        cache.fill(span, start, end, rows)


def split(rows: int, ranks: int) -> list[tuple[int, int]]:
    """Branches low..high of each rank: as even as can be, the first ranks have one more."""
    each, more = divmod(rows, ranks)
    starts = [rank * each + min(rank, more) for rank in range(ranks + 1)]
    return list(zip(starts, starts[1:]))


def cut(window: Window, low: int, high: int) -> Window:
    """The part of a window that branches low..high are; of a thin one with the last branch, whose columns they read, unasked."""
    width = window.columns.shape[1]
    asked = between(window, low, high)
    present = [name for name in PER_QUERY if getattr(window, name) is not None]
    rows = [*range(low, high), *range(max(high, len(window.tokens) - window.thin), len(window.tokens))]
    return replace(
        window, tokens=window.tokens[rows], ends=window.ends[rows], columns=window.columns[rows],
        queries=window.queries[asked] - low * width, **{name: getattr(window, name)[asked] for name in present},
        copies=window.copies and window.copies.part(slice(low, high)),
    )  # fmt: skip


def between(window: Window, low: int, high: int) -> slice:
    """Where in the queries those of branches low..high stand; queries are in order of branches."""
    width = window.columns.shape[1]
    return slice(*np.searchsorted(window.queries, (low * width, high * width)).tolist())

"""What a round of two ranks costs beside the same round in one process. For tests/runtime/bench_pool.py."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from lopa_core.decode.settings import DecodeSettings
from lopa_core.decode.window import Window, ask
from lopa_core.model.presets import PRESETS
from lopa_core.runtime.local import LocalEngine
from lopa_core.runtime.parallel import ParallelEngine
from lopa_core.runtime.session import open_model

from ..helpers.ranks import Ranks

BRANCHES, SLOTS, PREFIX = 8, 64, 96
SETTINGS = replace(DecodeSettings(**PRESETS["lopa-tiny"].settings), attention="full")  # under which commits cross, too


def cost_of_rounds(repeats: int) -> dict[str, Any]:
    """Of the embedded model."""
    ranks = Ranks(2)
    try:
        return ranks.run(2, rounds_in_turns, repeats)[0]
    finally:
        ranks.close()


def rounds_in_turns(group: dist.ProcessGroup, repeats: int) -> dict[str, Any]:
    """Medians of each way, which take turns in every round; a rank that has nothing to do waits at a barrier."""
    asked, network = window(), open_model().network
    local, parallel = LocalEngine(network), ParallelEngine(LocalEngine(network), group, ())
    for engine in (local, parallel):
        engine.open(BRANCHES, PREFIX + SLOTS, SETTINGS)
    for cache in (local.space.cache, parallel.local.space.cache):
        cache.keys.normal_()
        cache.values.normal_()
    told = defaultdict(list)
    for _ in range(repeats):
        if parallel.rank == 0:
            for threads in (2, 1):
                torch.set_num_threads(threads)
                told[f"one process, {threads} threads"].append(milliseconds(lambda: local.forward(asked)))
        dist.barrier(group)
        before = parallel.seconds_in_network
        told["two ranks, 1 thread each"].append(milliseconds(lambda: parallel.forward(asked)))
        told["of which the slower rank's forward"].append(1000 * (parallel.seconds_in_network - before))
        dist.barrier(group)
        told["commit of 64 slots"].append(milliseconds(lambda: parallel.commit(0, PREFIX, PREFIX + SLOTS)))
    return {
        "branches": BRANCHES,
        "masked slots of each": SLOTS,
        "bytes sent by a rank": parallel.bytes_sent // repeats,
        "bytes of a commit": parallel.bytes_committed // repeats,
        "milliseconds": {name: round(statistics.median(values), 2) for name, values in told.items()},
    }


def window() -> Window:
    """One block of masks behind a prefix, the same in all branches."""
    rows, slots = np.divmod(np.arange(BRANCHES * SLOTS), SLOTS)
    columns, queries = ask(rows, slots, BRANCHES)
    return Window(np.ones((BRANCHES, SLOTS), dtype=int), PREFIX, np.full(BRANCHES, PREFIX + SLOTS), columns, queries, None, PREFIX, SLOTS)


def milliseconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - began)

"""Static steps captured as CUDA graphs, one per shape: a round then costs the host one copy and one launch.

Elsewhere the same steps run as they are, which is how they are tested without a GPU.
"""

from __future__ import annotations

import logging
from collections import OrderedDict

import torch
from torch import Tensor

from ..decode.settings import DecodeSettings
from ..decode.window import Window
from ..model.cache import Cache
from ..model.network import Transformer
from .static import Shape, StaticStep

log = logging.getLogger(__name__)
MOST = 64  # graphs kept; the one unused for longest goes
WARM = 2  # runs before a capture: kernels load, libraries choose theirs


class Graphs:
    """For one network and one cache. A shape that cannot be captured is logged and run as it is from then on."""

    def __init__(self, network: Transformer, cache: Cache) -> None:
        for kept in (cache.keys, cache.values):
            kept.zero_()  # slots not written yet are hidden by a mask, which does not hide NaN
        self.network, self.cache = network, cache
        self.steps: OrderedDict[Shape, tuple[StaticStep, torch.cuda.CUDAGraph | None]] = OrderedDict()
        self.pool = torch.cuda.graph_pool_handle() if cache.keys.is_cuda else None

    def records(self, window: Window, settings: DecodeSettings, forbidden: int | None) -> Tensor:
        """The records [3, n] of a window, on the device."""
        shape = Shape.of(window, settings, forbidden)
        if shape not in self.steps:
            step = StaticStep(self.network, self.cache, shape)
            step.load(window)
            self.steps[shape] = step, self.capture(step) if self.pool else None
            if len(self.steps) > MOST:
                self.steps.popitem(last=False)
        self.steps.move_to_end(shape)
        step, graph = self.steps[shape]
        queries = step.load(window)
        graph.replay() if graph else step.run()
        return step.records.index_select(1, queries)

    def capture(self, step: StaticStep) -> torch.cuda.CUDAGraph | None:
        """The step as a graph. Its runs here only write slots of the window, which the replay writes again."""
        try:
            aside = torch.cuda.Stream()
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                for _ in range(WARM):
                    step.run()
            torch.cuda.current_stream().wait_stream(aside)
            graph = torch.cuda.CUDAGraph()
            # of this thread only: others ask for memory and watch collectives meanwhile
            with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
                step.run()
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:
            log.exception("No CUDA graph of %s: it runs without one", step.shape)
            return None
        return graph

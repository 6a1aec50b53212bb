"""A model on a ZeroGPU Space: its network lies in this process, and each race runs in a process that is forked for it.

ZeroGPU lends a GPU for one call of a function that its package `spaces` has wrapped. The package makes this process
believe in a GPU: what it loads to "cuda" is put aside when the page is launched, and is there in every forked process.
"""

from __future__ import annotations

import logging
import os
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from ..decode.settings import DecodeSettings, SettingsError
from ..model.errors import ModelError
from ..model.interface import Network
from ..model.size import parameters
from ..model.source import Checkpoint
from ..model.weights import Progress
from .crew import PoolFault
from .device import memory
from .messages import fault, line_up, told
from .race import WARM_ROUNDS, Lanes
from .remote import RemoteRace
from .session import LocalModel, open_model

log = logging.getLogger(__name__)


def on_zero() -> bool:
    """Whether this is a ZeroGPU Space; the switch is read as the package `spaces` reads it."""
    return os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """Seconds to ask for, from what a run can need at most; reckoned, on the safe side, not measured. Only those used are
    taken from a visitor's day, but as many as are asked for have to be left of it, and a run that takes longer may be ended.

    start: a process and its first kernels; load: per gigabyte of weights; launch: a round's kernels; sweep, row: per
    gigabyte of weights, of a round and of each of its rows. most: half as much again, which ZeroGPU asks for on some of its
    GPUs, is what a visitor has who is not signed in: two minutes a day.
    """

    start: float = 10.0
    load: float = 1.0
    launch: float = 0.01
    sweep: float = 0.001
    row: float = 0.0003
    least: int = 15
    most: int = 75

    def seconds(self, request: dict[str, Any], size: float) -> int:
        """request: as RemoteRace makes it; size: gigabytes of weights."""
        lanes = (DecodeSettings(**settings) for settings in request["lanes"].values())
        rounds = sum(self.of_lane(lane, request["warm"], size) for lane in lanes)
        return round(min(self.most, max(self.least, self.start + self.load * size + rounds)))

    def of_lane(self, settings: DecodeSettings, warm: bool, size: float) -> float:
        rows = settings.lookahead + 1
        return (settings.round_limit + WARM_ROUNDS * warm) * (self.launch + size * (self.sweep + rows * self.row))


LEASE = Lease()


class ZeroModel(LocalModel):
    """gpu: the package's decorator; it has to wrap a function before the page is launched."""

    static = False  # a forked process would capture its graphs anew
    lent = True

    def __init__(self, checkpoint: Checkpoint, network: Network, hardware: str, gpu: Callable[..., Any]) -> None:
        super().__init__(checkpoint, network, f"{hardware} (ZeroGPU)")
        self.dtype = network.dtype
        self.size = parameters(self.config) * self.dtype.itemsize / 1e9
        self.names = (self.hardware,)
        self.lending = gpu(self.lend, duration=self.seconds)

    def race(self, prompt: Sequence[int], lanes: Lanes, forced: Mapping[int, int] | None = None, *, warm: bool = True) -> RemoteRace:
        return RemoteRace(self, self.config, prompt, lanes, forced, warm)

    def run(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Messages of a run in a process that has a GPU; leaving it ends the call after the round under way. Raises PoolFault."""
        with in_words(), closing(self.lending(request)) as messages:
            for message in messages:
                if "ended" in message:
                    raise PoolFault(ended(message))
                yield message

    def seconds(self, request: dict[str, Any]) -> int:
        return LEASE.seconds(request, self.size)

    def lend(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The run, in the forked process. That may serve the next one too, so workspaces stay, but for one that was too large."""
        try:
            yield from told(line_up(request, self.engine, self.config))
            return
        except (SettingsError, ModelError, MemoryError, RuntimeError) as error:
            message = fault(error)
        self.release()  # outside of the error, which holds on to what was in use
        yield message

    def health(self) -> dict[str, Any]:
        """Of this process: a GPU is there only while a race runs."""
        one = {"device": f"{self.hardware}, lent for each run; this process", "answers": True, "memory": memory(torch.device("cpu"))}
        return {"state": self.state, "hardware": self.hardware, "dtype": str(self.dtype).removeprefix("torch."), "workers": [one]}


def open_zero(checkpoint: Checkpoint, *, dtype: torch.dtype | None = None, progress: Progress | None = None) -> ZeroModel:
    """Load a checkpoint on a ZeroGPU Space, as session.open_model does elsewhere. Raises ModelError.

    In the main thread, before the page is launched and before anything has asked for CUDA: only the thread that imports
    `spaces` first believes in a GPU.
    """
    import spaces  # it rewires torch, so on ZeroGPU only

    opened = open_model(checkpoint, device="cuda", dtype=dtype, progress=progress)
    return ZeroModel(checkpoint, opened.network, opened.hardware, spaces.GPU)


@contextmanager
def in_words() -> Iterator[None]:
    """What ZeroGPU says of a call, and what fails between it and this process, in a sentence."""
    import gradio as gr  # whose errors the package raises
    import httpx

    try:
        yield
    except gr.Error as error:
        raise PoolFault(sentence(error.title, str(error.message).strip(" ."))) from None
    except (RuntimeError, httpx.HTTPError, queue.Empty) as error:
        log.exception("ZeroGPU cannot be asked")
        raise PoolFault(f"ZeroGPU does not answer as it should ({type(error).__name__}): please try again in a minute.") from None


def sentence(title: str, said: str) -> str:
    """The package's errors by their titles."""
    match title, said:
        case "ZeroGPU quota exceeded", _:
            return f"No time on ZeroGPU is left for this run ({said}): sign in to Hugging Face for more, or watch a recording."
        case "ZeroGPU illegal duration" | "ZeroGPU pending credits exceeded", _:
            return f"ZeroGPU refused this run ({said}): take fewer branches or fewer new tokens, or try again later."
        case "ZeroGPU queue timeout" | "ZeroGPU client error", _:
            return f"ZeroGPU has no GPU to lend right now ({said}): please try again in a minute."
        case "ZeroGPU worker error", "GPU task aborted":
            return "ZeroGPU took its GPU back, so the run was broken off; what it had decoded is kept. Fewer new tokens take less time."
        case _:
            return f"The run failed on ZeroGPU ({said}), so it was broken off; what it had decoded is kept. The Space's log says more."


def ended(message: dict[str, str]) -> str:
    """The fault of a run, told by the forked process."""
    if message["ended"] == "memory":
        return "The GPU ran out of memory, so the run was broken off: take fewer branches or fewer new tokens."
    return message["error"]

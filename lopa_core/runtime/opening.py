"""From a model's name to a model that can be used: in this process or in workers, at once or while a page already runs."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

import torch

from ..model.errors import ModelError
from ..model.hub_progress import Progress
from ..model.size import in_words
from ..model.source import Checkpoint, Source
from .pooled import attach, open_pool
from .session import Model, open_model

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a model shall run. ranks: None is one per GPU, and this process where there is none; 0 is this process.

    device, dtype: None is what there is and what fits. threads: of the network on a CPU, 0 for all. tensor: ranks that share
    one copy of the network. connect, secret: workers that were started elsewhere.
    """

    ranks: int | None = None
    device: str | None = None
    dtype: torch.dtype | None = None
    threads: int = 0
    tensor: int = 1
    connect: str | None = None
    secret: str = ""

    def open(self, checkpoint: Checkpoint, progress: Progress | None = None) -> Model:
        """Raises ModelError. Workers load while this returns: Model.wait says when they are ready."""
        if self.connect:
            return attach(checkpoint, self.connect, self.secret)
        ranks = self.ranks
        if ranks is None:
            ranks = torch.cuda.device_count() if self.device in (None, "cuda") and torch.cuda.is_available() else 0
        how = {"device": self.device, "dtype": self.dtype}
        if ranks:
            return open_pool(checkpoint, ranks=ranks, threads=self.threads, tensor=self.tensor, **how)
        if self.tensor > 1:
            raise ModelError(f"--tensor {self.tensor} shares a network between workers: also give --ranks, a multiple of {self.tensor}.")
        if self.threads:
            torch.set_num_threads(self.threads)
        told = (lambda done, all_of_it: progress(done, all_of_it, "")) if progress else None
        return open_model(checkpoint, progress=told, **how)


class Abandoned(Exception):
    """The model on its way is not wanted any more: its download ends."""


class Opening:
    """A model on its way, in a thread of its own. `model` is there once it can be used, `error` says why it never will."""

    def __init__(self, source: Source, place: Place) -> None:
        self.source, self.place = source, place
        self.model: Model | None = None
        self.error = ""
        self.doing = "starting"
        self.begun: Model | None = None  # workers that load
        self.over, self.closed = threading.Event(), False
        threading.Thread(target=self.run, name="opening", daemon=True).start()

    def run(self) -> None:
        try:
            checkpoint = self.source.fetch(self.downloading)
            self.doing = "loading"
            self.begun = self.place.open(checkpoint, self.loading)
            self.begun.wait()
            self.model = self.begun
            announce(self.model)
        except Abandoned:
            log.info("%s is not wanted any more", self.source.title)
        except ModelError as error:
            self.error = str(error)
        except Exception as error:  # nobody else would hear of it
            log.exception("%s could not be opened", self.source.title)
            self.error = f"{self.source.title} could not be opened ({type(error).__name__}); the log says more."
        finally:
            self.over.set()
            if self.closed:
                self.close()

    def downloading(self, done: int, everything: int, name: str) -> None:
        if self.closed:
            raise Abandoned
        self.doing = f"downloading, {in_words(done)} of {in_words(everything)}"

    def loading(self, done: int, everything: int, name: str) -> None:
        self.doing = f"loading, {done / everything:.0%}"

    @property
    def state(self) -> str:
        """What it is doing, in a few words."""
        if self.error:
            return "failed"
        return self.begun.state if self.begun else self.doing

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it is over, one way or the other."""
        return self.over.wait(timeout)

    def close(self) -> None:
        self.closed = True
        if self.begun:
            self.begun.close()


def announce(model: Model) -> None:
    """Its notices into the log, where who started the program reads them."""
    for notice in model.notices:
        log.warning("%s: %s", model.name, notice)


def open_checkpoint(source: Source, place: Place, progress: Progress | None = None) -> Model:
    """Fetch and open a model and wait until it can be used. Raises ModelError."""
    model = place.open(source.fetch(progress))
    model.wait()
    return model
